// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"
)

// Delivery is one message on its way through a handler. It may be used by many goroutines.
type Delivery struct {
	Received
	h       handle
	key     unsafe.Pointer // names it, also when it is freed
	ctx     context.Context
	cancel  context.CancelCauseFunc
	over    sync.Once
	run     *run // nil in Drain and Step
	kind    Kind
	engine  string
	storeID string
}

// Context is cancelled when the handler should stop; context.Cause says why: ErrLeaseLost (someone
// else may have the message), ErrTimeout (it will be tried again), ErrStopped (the worker's stop
// is near its deadline; see Stopping) or ErrCancelled (Runs.Cancel was called; it is not tried again).
func (d *Delivery) Context() context.Context { return d.ctx }

// Kind says of which queue it is.
func (d *Delivery) Kind() Kind { return d.kind }

// StoreID is the id of the store that it came from.
func (d *Delivery) StoreID() string { return d.storeID }

// Stopping is closed as soon as the worker begins to stop. Handlers may then still finish.
func (d *Delivery) Stopping() <-chan struct{} {
	if d.run == nil {
		return nil
	}
	return d.run.stopping
}

// Complete acknowledges the message inside the app's transaction, so that the handler's own writes
// and the acknowledgement commit together; the handler then returns nil. If the transaction does
// not commit, the message is tried again. ErrLeaseLost: roll back.
func (d *Delivery) Complete(ctx context.Context, on Execer) error {
	return executeOn(ctx, on, d.completeOp, func(*operation) error { return nil })
}

// Done finishes a deferred or pulled delivery with success. ErrState: it is finished already;
// ErrLeaseLost; ErrStopped.
func (d *Delivery) Done() error { return d.finished(outcomeDone, "", 0) }

// Retry finishes it as failed, to be tried again after a delay; 0 is the backoff.
func (d *Delivery) Retry(reason string, delay time.Duration) error {
	return d.finished(outcomeRetry, reason, delay)
}

// Reject finishes it as a dead letter.
func (d *Delivery) Reject(reason string) error { return d.finished(outcomeReject, reason, 0) }

// Release gives it back at once as if it had never been started: see ErrRelease.
func (d *Delivery) Release() error { return d.finished(outcomeRelease, "", 0) }

func (d *Delivery) finished(how outcome, reason string, delay time.Duration) error {
	err := d.finish(how, reason, toMS(delay))
	if err == nil || errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrStopped) {
		d.forget()
	}
	return err
}

// Settle waits until the outcome of a finished delivery is written, and closes it. ErrLeaseLost: it
// changed nothing; ErrState: it is not finished; else what ended ctx.
func (d *Delivery) Settle(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := d.settle(20)
		if errors.Is(err, ErrTimeout) {
			continue
		}
		if !errors.Is(err, ErrState) {
			d.Close()
		}
		return err
	}
}

// Close gives a deferred or pulled delivery back. If it is not finished, it is tried again. The
// garbage collector does that too, at some time.
func (d *Delivery) Close() {
	runtime.SetFinalizer(d, nil)
	d.forget()
	d.h.close()
}

// forget ends its context, once: when it was freed, the key may be another delivery's.
func (d *Delivery) forget() {
	d.over.Do(func() {
		if d.run != nil {
			d.run.forget(d.key)
		}
		d.cancel(context.Canceled)
	})
}

// ---- running a handler ----------------------------------------------------------------------

// panicError is what a handler panicked with.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

var errGoexit = errors.New("the handler ended its goroutine")

// call runs a handler and finishes its delivery, whatever it does. It gives the outcome.
func (d *Delivery) call(log logger, handler Handler, answered func(outcome)) {
	var err error
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				err = &panicError{value, debug.Stack()}
			} else {
				err = errGoexit
			}
		}
		answered(d.answer(log, err))
	}()
	err = handler(d.ctx, d)
	returned = true
}

// answer finishes a delivery as the handler's error says.
func (d *Delivery) answer(log logger, err error) outcome {
	how, reason, delay := d.outcomeOf(err)
	if how == outcomeDeferred {
		runtime.SetFinalizer(d, (*Delivery).Close)
		return how
	}
	if how == outcomeFailed {
		d.logFailure(log, err)
	}
	d.forget()
	refused := d.end(how, reason, delay)
	if errors.Is(refused, ErrLeaseLost) {
		log.slog().Warn("handler finished after its lease was lost", "Topic", d.Topic,
			"MessageId", d.ID)
	}
	return how
}

func (d *Delivery) logFailure(log logger, err error) {
	attributes := []any{"Topic", d.Topic, "MessageId", d.ID, "Attempt", d.Attempt,
		"Error", textOf(err)}
	var panicked *panicError
	if errors.As(err, &panicked) {
		attributes = append(attributes, "Stack", string(panicked.stack))
	}
	log.slog().Error("handler failed", attributes...)
}

func (d *Delivery) outcomeOf(err error) (how outcome, reason string, delayMS int64) {
	defer func() {
		if recover() != nil { // an Is or As of the app's own
			how, reason, delayMS = outcomeFailed, fmt.Sprintf("%T", err), 0
		}
	}()
	var (
		retry  *retryError
		reject *rejectError
	)
	switch {
	case err == nil:
		return outcomeDone, "", 0
	case errors.Is(err, ErrDeferred):
		return outcomeDeferred, "", 0
	case errors.Is(err, ErrRelease):
		return outcomeRelease, "", 0
	case errors.As(err, &reject):
		return outcomeReject, textOf(err), 0
	case errors.As(err, &retry):
		delay := toMS(retry.delay)
		if delay < 0 || delay > maxDelayMS {
			delay = 0
		}
		return outcomeRetry, textOf(err), delay
	}
	reason = textOf(err)
	cause := context.Cause(d.ctx)
	switch {
	case cause == nil:
		return outcomeFailed, reason, 0
	case !errors.Is(err, context.Canceled) && !errors.Is(err, cause):
		return outcomeFailed, reason + ": " + textOf(cause), 0
	case cause == ErrStopped: // it did as it was told, and is not to blame
		return outcomeRelease, "", 0
	case cause == ErrCancelled: // the core says so in the reason, and tries it no more
		return outcomeRetry, reason, 0
	}
	return outcomeRetry, reason + ": " + textOf(cause), 0
}

const maxDelayMS = 31536000000 // 365 days
