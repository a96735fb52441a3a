// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// run is one run of a worker, from its start to its stop.
type run struct {
	worker   *Worker
	core     *nativeWorker
	handlers handlers
	parent   context.Context
	pulled   bool // by Next, not by us
	stopping chan struct{}
	ended    chan struct{}
	stopOnce sync.Once
	endOnce  sync.Once
	loops    sync.WaitGroup // those that wait in C
	running  sync.WaitGroup // handlers

	mu        sync.Mutex
	signals   map[unsafe.Pointer]context.CancelCauseFunc // of deliveries that are out
	missed    bool                                       // a cancellation came for an unknown one
	cancelled error                                      // all of them, those still to come too
	abandoned int
	stops     map[*time.Time]struct{} // deadlines of the core's stops that have not added what they abandoned
	counted   sync.Cond               // there is one less
	fatal     error
}

const (
	pullAtOnce = 64
	pullMS     = 500 // the core's log is written in between
	cancelMS   = 60000
)

// start starts the core, so that its errors are seen here, and what waits for it.
func (r *run) start() error {
	p := r.core.puller(pullAtOnce)
	if !r.pulled {
		if err := p.next(0, r.topic, r.dispatch); err != nil && !errors.Is(err, ErrTimeout) {
			p.free()
			return err
		}
		r.loops.Add(1)
		go r.pull(p)
	} else {
		p.free()
	}
	r.loops.Add(1)
	go r.watch()
	return nil
}

// handlers are registrations by kind and topic.
type handlers map[Kind]map[string]*registration

func (h handlers) add(one *registration) {
	if h[one.kind] == nil {
		h[one.kind] = map[string]*registration{}
	}
	h[one.kind][one.topic] = one
}

func (r *run) topic(kind Kind, name []byte) string {
	if one := r.handlers[kind][string(name)]; one != nil {
		return one.topic
	}
	return ""
}

func (r *run) pull(p *puller) {
	defer r.loops.Done()
	defer p.free()
	for {
		err := p.next(pullMS, r.topic, r.dispatch)
		if err == nil || errors.Is(err, ErrTimeout) {
			r.checkMissed()
			continue
		}
		if !errors.Is(err, ErrStopped) {
			r.mu.Lock()
			r.fatal = err
			r.mu.Unlock()
			go r.stop(r.worker.stopTimeout) //nolint:errcheck // Run gives it
		}
		return
	}
}

func (r *run) dispatch(t *taken) {
	d := r.delivery(t)
	handler := Handler(noHandler)
	if one := r.handlers[d.kind][d.Topic]; one != nil {
		handler = one.handler
	}
	r.running.Add(1)
	go d.call(r.worker.store.log, handler, func(outcome) { r.running.Done() })
}

func noHandler(context.Context, *Delivery) error {
	return errors.New("no handler for the topic")
}

func (r *run) delivery(t *taken) *Delivery {
	d := &Delivery{run: r}
	d.own(t)
	d.ctx, d.cancel = context.WithCancelCause(d.traced(r.parent))
	r.mu.Lock()
	r.signals[d.key] = d.cancel
	missed, cancelled := r.missed, r.cancelled
	r.mu.Unlock()
	if missed {
		d.checkCancelled()
	}
	if cancelled != nil {
		d.cancel(cancelled)
	}
	return d
}

func (d *Delivery) checkCancelled() {
	if cause := d.cancelled(); cause != nil && cause != ErrStopped {
		d.cancel(cause)
	}
}

func (r *run) checkMissed() {
	r.mu.Lock()
	r.missed = false
	r.mu.Unlock()
}

func (r *run) forget(key unsafe.Pointer) {
	r.mu.Lock()
	delete(r.signals, key)
	r.mu.Unlock()
}

// watch turns the core's cancellations into those of contexts.
func (r *run) watch() {
	defer r.loops.Done()
	for {
		err := r.core.nextCancelled(cancelMS, func(key unsafe.Pointer, cause error) {
			if cause == nil || cause == ErrStopped {
				return // handlers may finish: see stop
			}
			r.mu.Lock()
			cancel := r.signals[key]
			r.missed = r.missed || cancel == nil
			r.mu.Unlock()
			if cancel != nil {
				cancel(cause)
			}
		})
		if err != nil && !errors.Is(err, ErrTimeout) {
			return
		}
	}
}

// next is Worker.Next.
func (r *run) next(ctx context.Context) (*Delivery, error) {
	p := r.core.puller(1)
	defer p.free()
	var d *Delivery
	for d == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := p.next(20, r.topic, func(t *taken) { d = r.delivery(t) })
		if err != nil && !errors.Is(err, ErrTimeout) {
			return nil, err
		}
	}
	runtime.SetFinalizer(d, (*Delivery).Close)
	return d, nil
}

// lastCall is how long before the deadline of a stop handlers are cancelled.
func lastCall(timeout time.Duration) time.Duration { return min(5*time.Second, timeout/2) }

// stop stops the run by a deadline. Many goroutines may call it; the nearest deadline holds.
func (r *run) stop(timeout time.Duration) error {
	r.stopOnce.Do(func() { close(r.stopping) })
	told := time.AfterFunc(timeout-lastCall(timeout), func() { r.cancelAll(ErrStopped) })
	defer told.Stop()
	deadline := time.Now().Add(timeout)
	r.mu.Lock()
	r.stops[&deadline] = struct{}{}
	r.mu.Unlock()
	abandoned, err := r.core.stop(toMS(timeout))
	r.mu.Lock()
	r.abandoned += abandoned
	delete(r.stops, &deadline)
	r.counted.Broadcast()
	for r.anyDue() { // it may have abandoned them, and returns now, too
		r.counted.Wait()
	}
	r.mu.Unlock()
	if err != nil && !errors.Is(err, ErrState) { // closed: another one has ended it
		return err
	}
	r.endOnce.Do(func() {
		r.cancelAll(ErrStopped)
		r.loops.Wait()
		r.waitForHandlers(time.Until(deadline))
		r.worker.over(r)
		close(r.ended)
	})
	<-r.ended
	return r.result()
}

// waitForHandlers waits for those that have finished their delivery, and do what else.
// anyDue tells whether the deadline of a stop is over that has not told what it abandoned. Under mu.
func (r *run) anyDue() bool {
	for deadline := range r.stops {
		if !deadline.After(time.Now()) {
			return true
		}
	}
	return false
}

func (r *run) waitForHandlers(timeout time.Duration) {
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(timeout):
	}
}

func (r *run) cancelAll(cause error) {
	r.mu.Lock()
	r.cancelled = cause
	cancels := make([]context.CancelCauseFunc, 0, len(r.signals))
	for _, cancel := range r.signals {
		cancels = append(cancels, cancel)
	}
	r.mu.Unlock()
	for _, cancel := range cancels {
		cancel(cause)
	}
}

func (r *run) result() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal != nil {
		return r.fatal
	}
	if r.abandoned > 0 {
		return failure(ErrTimeout, "%d handlers were still running at the end of the stop",
			r.abandoned)
	}
	return nil
}
