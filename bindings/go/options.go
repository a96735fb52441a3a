// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Option is an option of a store, a worker or one topic's handler. Those of a worker can be given
// to Open too, as the default of its workers, and those that docs/CONFIGURATION.md marks as
// "per topic" to Worker.Handle.
type Option func(*settings) error

type place string

const (
	forStore  place = "store"
	forWorker place = "worker"
	forTopic  place = "topic"
)

// settings is what options act on.
type settings struct {
	place       place
	config      *nativeConfig                 // of a store or worker
	topic       func(key, value string) error // of a topic
	logger      *slog.Logger
	level       bool // log.level was given
	stopTimeout time.Duration
	secondCopy  bool
	selector    Selector
	registrar   string
	traces      func(context.Context) Trace
}

func (s *settings) apply(options []Option) error {
	for _, option := range options {
		if err := option(s); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) set(key, value string) error {
	if s.place != forStore && !strings.HasPrefix(key, "worker.") {
		return failure(ErrConfig, "%s is no option of a %s", key, s.place)
	}
	if s.place == forTopic {
		return s.topic(strings.TrimPrefix(key, "worker."), value)
	}
	s.level = s.level || key == "log.level"
	return s.config.set(key, value)
}

func (s *settings) only(where place, name string) error {
	if s.place != where {
		return failure(ErrConfig, "%s is no option of a %s", name, s.place)
	}
	return nil
}

// WithOption sets one option by its key, such as "store.schema" or "worker.lease_ms":
// docs/CONFIGURATION.md and DescribeOptions list them all.
func WithOption(key, value string) Option {
	return func(s *settings) error { return s.set(key, value) }
}

func withMS(key string, d time.Duration) Option {
	return WithOption(key, strconv.FormatInt(toMS(d), 10))
}

func withInt(key string, n int) Option { return WithOption(key, strconv.Itoa(n)) }

// WithDeploy creates or upgrades Waypost's tables when the store is opened.
func WithDeploy() Option { return WithOption("store.deploy", "true") }

// WithJSON sets options from a JSON object of keys and values.
func WithJSON(text string) Option {
	return func(s *settings) error {
		if err := s.only(forStore, "WithJSON"); err != nil {
			return err
		}
		return s.config.loadJSON(text)
	}
}

// WithEnv sets options from the environment: WAYPOST_WORKER_LEASE_MS is worker.lease_ms.
func WithEnv() Option {
	return func(s *settings) error {
		if err := s.only(forStore, "WithEnv"); err != nil {
			return err
		}
		return s.config.loadEnv()
	}
}

// WithLogger sends the log to a logger, from the least level that it is enabled for now. Without,
// it is slog.Default(), from warnings on. There are no payloads in it.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) error {
		s.logger = logger
		return s.only(forStore, "WithLogger")
	}
}

// WithClock uses a clock in place of the system's, for tests.
func WithClock(clock *ManualClock) Option {
	return func(s *settings) error {
		if err := s.only(forStore, "WithClock"); err != nil {
			return err
		}
		return s.config.setClock(clock)
	}
}

// WithSecondSQLite opens a SQLite store although the program has a second SQLite in it: see the
// README. Use it only if that one never opens the same file.
func WithSecondSQLite() Option {
	return func(s *settings) error {
		s.secondCopy = true
		return s.only(forStore, "WithSecondSQLite")
	}
}

// WithName names a worker in claims and in the log.
func WithName(name string) Option { return WithOption("worker.name", name) }

// WithConcurrency bounds how many deliveries are in progress at once.
func WithConcurrency(n int) Option { return withInt("worker.concurrency", n) }

// WithBatchSize bounds how many messages are taken in one claim.
func WithBatchSize(n int) Option { return withInt("worker.batch_size", n) }

// WithLease is how long a claim lasts unless it is renewed.
func WithLease(d time.Duration) Option { return withMS("worker.lease_ms", d) }

// WithTimeout is how long a handler may take until its context is cancelled; 0: no limit.
func WithTimeout(d time.Duration) Option { return withMS("worker.timeout_ms", d) }

// WithMaxAttempts is after how many attempts a message is a dead letter.
func WithMaxAttempts(n int) Option { return withInt("worker.max_attempts", n) }

// WithBackoff is the delay before the first retry, which then doubles, and the longest delay.
func WithBackoff(base, most time.Duration) Option {
	return func(s *settings) error {
		return s.apply([]Option{withMS("worker.backoff_base_ms", base),
			withMS("worker.backoff_max_ms", most)})
	}
}

// WithPoll is the shortest and the longest time between polls.
func WithPoll(least, most time.Duration) Option {
	return func(s *settings) error {
		return s.apply([]Option{withMS("worker.poll_min_ms", least),
			withMS("worker.poll_max_ms", most)})
	}
}

// WithSelection is, with several stores, whose message goes to the next free handler: "round-robin" or
// "drain-first".
func WithSelection(selection string) Option { return WithOption("worker.selection", selection) }

// WithTurn is, with round-robin, how many messages of a store are handled before it is the next one's
// turn.
func WithTurn(n int) Option { return withInt("worker.turn", n) }

// WithSelector has a function choose whose message goes to the next free handler.
func WithSelector(selector Selector) Option {
	return func(s *settings) error {
		s.selector = selector
		return s.only(forWorker, "WithSelector")
	}
}

// WithRegistrar names the program whose jobs a worker registers (see Worker.Job). By default it is the
// path of its main package. Programs with different jobs in one database need different names, lest each
// switches the other's off. If it is given, a worker without jobs registers that there are none.
func WithRegistrar(name string) Option {
	return func(s *settings) error {
		if name == "" {
			return failure(ErrConfig, "the registrar has no name")
		}
		s.registrar = name
		return s.only(forWorker, "WithRegistrar")
	}
}

// program names the program: its main package.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		return info.Path
	}
	return filepath.Base(os.Args[0])
}

// WithStopTimeout is how long Run waits for handlers when its context is done, and Stop without a
// deadline. By default 30 seconds.
func WithStopTimeout(d time.Duration) Option {
	return func(s *settings) error {
		if s.place == forTopic || d < 0 || toMS(d) > 86400000 {
			return failure(ErrConfig, "the stop timeout of %v does not fit a %s", d, s.place)
		}
		s.stopTimeout = d
		return nil
	}
}
