// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"strconv"
	"time"
)

// Candidate is a store that has messages for the next free handler.
type Candidate struct {
	StoreID string
	Ready   int // claimed, and waiting
	Running int // with handlers
}

// Selector chooses whose message goes to the next free handler: the id of one of at least two
// candidates; any other text leaves it to the worker. It is called by several goroutines at once.
type Selector func(candidates []Candidate) string

// Source is a store by its id and URL, with options that differ from the router's.
type Source struct {
	ID, URL string
	Options []Option
}

// Router has stores by their ids: an app finds the one that it means, and a worker serves all of them.
// A store is opened when it is first needed, so that one which cannot be reached holds up none of the
// others. It may be used by many goroutines.
type Router struct {
	h       handle
	base    *Store // no store: the configuration and log of all, and their workers
	options []Option
}

// retryDiscovery is how long to wait after a discovery that failed, if the interval is not shorter.
const retryDiscovery = 10 * time.Second

// NewRouter makes a router without stores. The options are those of all its stores and workers.
func NewRouter(options ...Option) (*Router, error) {
	config, s, err := configured("", options)
	if err != nil {
		return nil, err
	}
	r := &Router{options: options, base: &Store{config: config, log: logger{s.logger},
		stopTimeout: s.stopTimeout, traces: s.traces, workers: map[*Worker]struct{}{}}}
	if err := r.open(); err != nil {
		config.close()
		return nil, err
	}
	return r, nil
}

// Set gives the whole list of stores anew. Those whose settings are as they were stay as they are,
// changed ones are opened anew, and workers let go of those that are gone. ErrArgument: two have the same
// id; ErrConfig; then nothing is changed.
func (r *Router) Set(sources ...Source) error {
	configs := make([]*nativeConfig, 0, len(sources))
	defer func() {
		for _, config := range configs {
			config.close()
		}
	}()
	for _, source := range sources {
		options := append(r.options[:len(r.options):len(r.options)], source.Options...)
		options = append(options, WithOption("store.id", source.ID))
		config, _, err := configured(source.URL, options)
		if err != nil {
			return err
		}
		configs = append(configs, config)
	}
	return r.set(configs)
}

// Discover calls find now and then again and again, and gives what it found to Set, until ctx is done;
// then it returns nil. An interval of 0 is the option worker.discovery_interval_ms, 5 minutes by default.
// When find fails, all stays as it is, and it is called again after 10 seconds at the latest.
func (r *Router) Discover(ctx context.Context, interval time.Duration,
	find func(context.Context) ([]Source, error)) error {
	if interval <= 0 {
		text, err := r.base.config.get("worker.discovery_interval_ms")
		if err != nil {
			return err
		}
		ms, _ := strconv.ParseInt(text, 10, 64)
		interval = time.Duration(ms) * time.Millisecond
	}
	for ctx.Err() == nil {
		wait := interval
		sources, err := find(ctx)
		if err == nil {
			err = r.Set(sources...)
		}
		if err != nil && ctx.Err() == nil {
			wait = min(interval, retryDiscovery)
			r.base.log.slog().Error("discovery failed, the stores stay as they are", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// Store is the store of a key, opened now if it was not. Close it after use; it works on, also when the
// list changes. ErrNotFound: no store has this id. The key may be an ID's text.
func (r *Router) Store(ctx context.Context, key string) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	store, err := r.get(key)
	if err != nil {
		return nil, err
	}
	config, err := r.base.config.copy()
	if err != nil {
		store.h.close()
		return nil, err
	}
	store.config, store.log, store.stopTimeout = config, r.base.log, r.base.stopTimeout
	store.workers, store.traces = map[*Worker]struct{}{}, r.base.traces
	return store, nil
}

// Enqueue writes messages to the outbox of a key, as Outbox.Enqueue does. ErrNotFound: no store has
// this id.
func (r *Router) Enqueue(ctx context.Context, key string, on Execer, m Message) (Enqueued, error) {
	store, err := r.Store(ctx, key)
	if err != nil {
		return Enqueued{}, err
	}
	defer store.Close()
	return store.Outbox().Enqueue(ctx, on, m)
}

// Receive writes a message to the inbox of a key, as Inbox.Enqueue does. ErrNotFound: no store has this
// id.
func (r *Router) Receive(ctx context.Context, key string, on Execer, known InboxKey,
	m Message) (Arrival, error) {
	store, err := r.Store(ctx, key)
	if err != nil {
		return Arrival{}, err
	}
	defer store.Close()
	return store.Inbox().Enqueue(ctx, on, known, m)
}

// Worker makes a worker on all stores, also those that come later. It does nothing until it is run.
func (r *Router) Worker(options ...Option) (*Worker, error) { return r.base.worker(r, options) }

// Close lets the stores go. Workers that run go on with those that they have until they are stopped.
func (r *Router) Close() error {
	r.h.close()
	return r.base.Close()
}
