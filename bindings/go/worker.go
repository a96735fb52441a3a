// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// Handler handles a delivery, on a goroutine of its own. It returns nil: done; Retry, Reject,
// ErrDeferred, ErrRelease: as they say; any other error: tried again after the backoff, with the
// error's text as the reason. A panic, or the end of the goroutine, is an error too. To return
// ctx.Err() after a stop has cancelled ctx gives the message back with its attempt unchanged.
type Handler func(ctx context.Context, delivery *Delivery) error

// Counters is what a worker has done, over all its runs. Rows changed, not ids asked for.
type Counters struct {
	Claimed    int64
	Acked      int64
	Abandoned  int64 // given back for a retry
	Failed     int64 // made dead letters
	Released   int64
	Reaped     int64
	LeasesLost int64
	Renewed    int64
	Polls      int64 // claims sent, empty ones too
	Wakes      int64
	Errors     int64 // database errors met
	Cancelled  int64 // runs that were cancelled while they ran
}

func (c *Counters) add(more Counters) {
	c.Claimed += more.Claimed
	c.Acked += more.Acked
	c.Abandoned += more.Abandoned
	c.Failed += more.Failed
	c.Released += more.Released
	c.Reaped += more.Reaped
	c.LeasesLost += more.LeasesLost
	c.Renewed += more.Renewed
	c.Polls += more.Polls
	c.Wakes += more.Wakes
	c.Errors += more.Errors
	c.Cancelled += more.Cancelled
}

// Worker claims what is due, hands it to handlers, and finishes it. It can run again after it was
// stopped. It may be used by many goroutines.
type Worker struct {
	store       *Store
	router      *Router // nil: the store's alone; else store is what its workers have in common
	config      *nativeConfig
	stopTimeout time.Duration
	manual      manual

	mu       sync.Mutex
	handlers []*registration
	core     *nativeWorker // has not run yet
	run      *run
	counted  Counters
	selector Selector
	added    []added

	registrar  string
	named      bool // the registrar is, by WithRegistrar
	jobs       []Job
	registered bool // the jobs are
}

// added is a further store of a worker.
type added struct {
	store *Store
	id    string
}

// registration is a topic, how it is handled, and its options.
type registration struct {
	kind    Kind
	topic   string
	handler Handler // nil: it is pulled with Next
	options []Option
	manual  *manual
	job     *Job // that is registered, too
}

// Worker makes a worker. It does nothing until it is run.
func (s *Store) Worker(options ...Option) (*Worker, error) { return s.worker(nil, options) }

func (s *Store) worker(router *Router, options []Option) (*Worker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, failure(ErrState, "the store is closed")
	}
	config, err := s.config.copy()
	if err != nil {
		return nil, err
	}
	set := &settings{place: forWorker, config: config, stopTimeout: s.stopTimeout}
	worker := &Worker{store: s, router: router, config: config}
	if err = set.apply(options); err == nil {
		worker.stopTimeout, worker.selector = set.stopTimeout, set.selector
		worker.registrar, worker.named = cmp.Or(set.registrar, program()), set.registrar != ""
		_, err = worker.prepared()
	}
	if err != nil {
		config.close()
		return nil, err
	}
	worker.manual.log = s.log
	s.workers[worker] = struct{}{}
	return worker, nil
}

// Handle registers the handler of a topic, with options that differ from the worker's, before the
// worker runs. Of other topics the worker takes nothing.
func (w *Worker) Handle(topic string, handler Handler, options ...Option) error {
	return w.handle(OutboxKind, topic, handler, options)
}

// HandleInbox is Handle for messages of the inbox. The same topic may have a handler in each queue.
func (w *Worker) HandleInbox(topic string, handler Handler, options ...Option) error {
	return w.handle(InboxKind, topic, handler, options)
}

// HandleTimer is Handle for timers.
func (w *Worker) HandleTimer(topic string, handler Handler, options ...Option) error {
	return w.handle(TimerKind, topic, handler, options)
}

// HandleRuns is Handle for runs of jobs, whoever stored them, by the topic of their job. See Job.
func (w *Worker) HandleRuns(topic string, handler Handler, options ...Option) error {
	return w.handle(JobKind, topic, handler, options)
}

func (w *Worker) handle(kind Kind, topic string, handler Handler, options []Option) error {
	if handler == nil {
		return failure(ErrArgument, "the handler of topic %q is nil", topic)
	}
	return w.register(&registration{kind: kind, topic: topic, handler: handler, options: options,
		manual: &w.manual})
}

// Subscribe registers a topic of a queue whose deliveries are taken with Next.
func (w *Worker) Subscribe(kind Kind, topic string, options ...Option) error {
	return w.register(&registration{kind: kind, topic: topic, options: options})
}

func (w *Worker) register(one *registration) error {
	if err := checkText("topic", one.topic); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run != nil {
		return failure(ErrState, "the worker is running")
	}
	core, err := w.prepared()
	if err != nil {
		return err
	}
	if err := one.register(core); err != nil {
		if !errors.Is(err, ErrState) { // a topic whose options are refused must not stay
			core.h.close()
			w.core = nil
		}
		return err
	}
	w.handlers = append(w.handlers, one)
	if one.job != nil {
		w.jobs = append(w.jobs, *one.job)
		w.registered = false
	}
	return nil
}

func (r *registration) register(core *nativeWorker) error {
	user := r
	if r.handler == nil {
		user = nil
	}
	if err := core.handle(r.kind, r.topic, user); err != nil {
		return err
	}
	set := &settings{place: forTopic, topic: func(key, value string) error {
		return core.topicSet(r.kind, r.topic, key, value)
	}}
	return set.apply(r.options)
}

// prepared is a core worker that has not run yet; w.mu is held.
func (w *Worker) prepared() (*nativeWorker, error) {
	if w.core != nil {
		return w.core, nil
	}
	core, err := newNativeWorker(w.store, w.router, w.config)
	if err != nil {
		return nil, err
	}
	if err := w.prepare(core); err != nil {
		core.h.close()
		return nil, err
	}
	w.core = core
	return core, nil
}

// prepare gives a new core worker what this one was given; w.mu is held.
func (w *Worker) prepare(core *nativeWorker) error {
	if w.selector != nil {
		if err := core.setSelector(w.selector); err != nil {
			return err
		}
	}
	for _, one := range w.added {
		if err := core.addStore(one.store, one.id); err != nil {
			return err
		}
	}
	for _, one := range w.handlers {
		if err := one.register(core); err != nil {
			return err
		}
	}
	return nil
}

// ---- stores ---------------------------------------------------------------------------------

// AddStore has the worker serve a further store under an id, "" for the store's own, also while it
// runs. Its handlers are for all stores, and so is its concurrency. ErrState: it has one of that id.
func (w *Worker) AddStore(store *Store, id string) error {
	if id == "" {
		id = store.id
	}
	if err := checkText("id", id); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	core, err := w.current()
	if err != nil {
		return err
	}
	if err := core.addStore(store, id); err != nil {
		return err
	}
	w.added = append(w.added, added{store, id})
	return nil
}

// RemoveStore lets go of a store, also while the worker runs: what was not started goes back, running
// handlers finish until the deadline of ctx, at most the stop timeout. ErrNotFound: it has no such
// store; ErrTimeout: handlers were still running.
func (w *Worker) RemoveStore(ctx context.Context, id string) error {
	if err := checkText("id", id); err != nil {
		return err
	}
	timeout := w.stopTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), 0)
	}
	w.mu.Lock()
	core, err := w.current()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	abandoned, err := core.removeStore(id, toMS(timeout))
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.added = slices.DeleteFunc(w.added, func(one added) bool { return one.id == id })
	w.mu.Unlock()
	if abandoned > 0 {
		return failure(ErrTimeout, "%d handlers were still running", abandoned)
	}
	return nil
}

// StoreCounters is what the worker has done for one store, in its present run or before the first.
func (w *Worker) StoreCounters(id string) Counters {
	w.mu.Lock()
	defer w.mu.Unlock()
	if core, err := w.current(); err == nil {
		return core.storeCounters(id)
	}
	return Counters{}
}

// current is the core worker that runs, or the next one to; w.mu is held.
func (w *Worker) current() (*nativeWorker, error) {
	if w.run != nil {
		return w.run.core, nil
	}
	return w.prepared()
}

// closeIdle frees what a worker that does not run holds in C.
func (w *Worker) closeIdle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run == nil {
		w.free()
	}
}

// free is for a worker that will not run again; w.mu is held.
func (w *Worker) free() {
	if w.core != nil {
		w.counted.add(w.core.counters())
		w.core.h.close()
		w.core = nil
	}
	w.config.close()
}

// ---- running --------------------------------------------------------------------------------

// Run runs handlers until ctx is done or Stop is called. Then it claims no more, gives unstarted
// work back, lets running handlers finish until the stop timeout, and writes their outcomes.
// Values of ctx are those of the handlers' contexts. ErrTimeout: handlers were still running.
func (w *Worker) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := w.begin(ctx, false)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return r.stop(w.stopTimeout)
	case <-r.ended:
		return r.result()
	}
}

// Start runs handlers in the background until Stop. The end of ctx does not stop it.
func (w *Worker) Start(ctx context.Context) error {
	_, err := w.begin(ctx, false)
	return err
}

// Stop stops as Run does, by the deadline of ctx if that comes before the stop timeout; when ctx is
// cancelled, it waits no longer. It may be called again. In a handler of the worker, given its
// context, it only begins to stop, since it cannot wait for itself.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	r := w.run
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	timeout := w.stopTimeout
	if inside, _ := ctx.Value(insideKey{}).(*Worker); inside == w {
		go r.stop(timeout) //nolint:errcheck // Run gives it
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < timeout {
		timeout = max(time.Until(deadline), 0)
	}
	hurry := context.AfterFunc(ctx, func() { _ = r.stop(0) })
	defer hurry()
	return r.stop(timeout)
}

// Wake looks for work now instead of at the next poll. A hint.
func (w *Worker) Wake() {
	w.mu.Lock()
	r := w.run
	w.mu.Unlock()
	if r != nil {
		r.core.wake()
	}
}

// Counters is what the worker has done.
func (w *Worker) Counters() Counters {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := w.counted
	if w.run != nil {
		sum.add(w.run.core.counters())
	} else if w.core != nil {
		sum.add(w.core.counters())
	}
	return sum
}

// Next takes the next delivery of the topics that were subscribed to; finish it with its methods.
// ErrStopped: the worker was stopped; else what ended ctx.
func (w *Worker) Next(ctx context.Context) (*Delivery, error) {
	w.mu.Lock()
	r := w.run
	w.mu.Unlock()
	if r == nil {
		var err error
		if r, err = w.begin(ctx, true); err != nil {
			return nil, err
		}
	}
	if !r.pulled {
		return nil, failure(ErrState, "the worker runs handlers: Next is for one that does not")
	}
	return r.next(ctx)
}

type insideKey struct{}

func (w *Worker) begin(ctx context.Context, pulled bool) (*run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beginLocked(ctx, pulled)
}

// beginLocked is begin; w.mu is held, but let go of while jobs are stored.
func (w *Worker) beginLocked(ctx context.Context, pulled bool) (*run, error) {
	if w.run != nil {
		if pulled && w.run.pulled {
			return w.run, nil
		}
		return nil, failure(ErrState, "the worker is running already")
	}
	known := handlers{}
	for _, one := range w.handlers {
		if one.handler == nil && !pulled {
			return nil, failure(ErrState, "topic %q has no handler: it is for Next", one.topic)
		}
		known.add(one)
	}
	core, err := w.prepared()
	if err != nil {
		return nil, err
	}
	if again, err := w.registerJobs(); err != nil {
		return nil, err
	} else if again {
		return w.beginLocked(ctx, pulled)
	}
	parent := context.WithValue(context.WithoutCancel(ctx), insideKey{}, w)
	r := &run{worker: w, core: core, handlers: known, parent: parent, pulled: pulled,
		signals:  map[unsafe.Pointer]context.CancelCauseFunc{},
		stopping: make(chan struct{}), ended: make(chan struct{})}
	r.counted.L = &r.mu
	r.stops = map[*time.Time]struct{}{}
	if err := r.start(); err != nil {
		return nil, err
	}
	w.run, w.core = r, nil
	return r, nil
}

// over is called once, when a run has ended.
func (w *Worker) over(r *run) {
	w.store.mu.Lock()
	closed := w.store.closed
	w.store.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted.add(r.core.counters())
	r.core.h.close()
	w.run = nil
	if closed {
		w.free()
	}
}

// ---- for tests ------------------------------------------------------------------------------

// Drain runs handlers until nothing is due and all is finished, and returns how many deliveries
// were handled. Messages that are due later are left. The worker must not be running.
func (w *Worker) Drain(ctx context.Context) (int, error) {
	timeout := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Until(deadline), 0)
	}
	return w.manually(ctx, func(core *nativeWorker) (int, error) { return core.drain(toMS(timeout)) })
}

// Step claims and handles at most one message, and returns 1 or 0. The worker must not be running.
func (w *Worker) Step(ctx context.Context) (int, error) {
	return w.manually(ctx, (*nativeWorker).step)
}

func (w *Worker) manually(ctx context.Context, do func(*nativeWorker) (int, error)) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	core, err := w.idle()
	if err != nil {
		return 0, err
	}
	w.manual.mu.Lock()
	defer w.manual.mu.Unlock()
	w.manual.ctx = context.WithValue(ctx, insideKey{}, w)
	defer func() { w.manual.ctx = nil }()
	return do(core)
}

// idle is the core worker of one that does not run, whose jobs are stored.
func (w *Worker) idle() (*nativeWorker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.run != nil {
			return nil, failure(ErrState, "drain and step are for a worker that is not running")
		}
		core, err := w.prepared()
		if err != nil {
			return nil, err
		}
		if again, err := w.registerJobs(); !again || err != nil {
			return core, err
		}
	}
}

// manual is what handlers that Drain and Step call need.
type manual struct {
	mu  sync.Mutex
	ctx context.Context
	log logger
}

// handle is called by the core, on the thread of Drain or Step. The handler gets a goroutine of its
// own, so that whatever it does, nothing unwinds through C.
func (m *manual) handle(one *registration, t *taken) outcome {
	d := &Delivery{}
	d.own(t)
	d.ctx, d.cancel = context.WithCancelCause(d.traced(m.ctx))
	done := make(chan outcome, 1)
	go d.call(m.log, one.handler, func(how outcome) { done <- how })
	return <-done
}
