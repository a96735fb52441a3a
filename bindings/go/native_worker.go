// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"

	"waypost/internal/live"
)

type outcome int

const (
	outcomeFailed   outcome = C.WP_OUTCOME_NONE // without an answer of its own
	outcomeDone     outcome = C.WP_OUTCOME_DONE
	outcomeRetry    outcome = C.WP_OUTCOME_RETRY
	outcomeReject   outcome = C.WP_OUTCOME_REJECT
	outcomeDeferred outcome = C.WP_OUTCOME_DEFERRED
	outcomeRelease  outcome = C.WP_OUTCOME_RELEASE
)

// ---- workers --------------------------------------------------------------------------------

type nativeWorker struct{ h handle }

// newNativeWorker makes a worker on a store, or on all stores of a router.
func newNativeWorker(store *Store, router *Router, config *nativeConfig) (*nativeWorker, error) {
	on := &store.h
	if router != nil {
		on = &router.h
	}
	s, e := on.use()
	if e != nil {
		return nil, e
	}
	defer on.unuse()
	c, e := config.use()
	if e != nil {
		return nil, e
	}
	defer config.unuse()
	var (
		out *C.wp_worker
		err *C.wp_error
	)
	var status C.wp_status
	if router != nil {
		status = C.wp_worker_new_on_router(&out, (*C.wp_router)(s), (*C.wp_config)(c), &err)
	} else {
		status = C.wp_worker_new(&out, (*C.wp_store)(s), (*C.wp_config)(c), &err)
	}
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	worker := &nativeWorker{}
	worker.h.own(unsafe.Pointer(out), "worker", func(ptr unsafe.Pointer) {
		C.wp_worker_free((*C.wp_worker)(ptr))
	})
	runtime.SetFinalizer(worker, func(w *nativeWorker) { w.h.close() })
	return worker, nil
}

// handle registers a topic. user gets the deliveries of drain and step; nil: there are none.
func (w *nativeWorker) handle(kind Kind, topic string, user *registration) error {
	ptr, e := w.h.use()
	if e != nil {
		return e
	}
	defer w.h.unuse()
	var (
		err    *C.wp_error
		number C.uintptr_t
	)
	if user != nil {
		number = newUser(user)
	}
	name := newText(topic)
	defer name.free()
	return failed(C.wpg_worker_handle((*C.wp_worker)(ptr), kind.c(), name.ptr, number, &err), err)
}

func (w *nativeWorker) topicSet(kind Kind, topic, key, value string) error {
	ptr, e := w.h.use()
	if e != nil {
		return e
	}
	defer w.h.unuse()
	for _, text := range []string{key, value} {
		if err := checkText("the option "+key, text); err != nil {
			return err
		}
	}
	var err *C.wp_error
	t, k, v := newText(topic), newText(key), newText(value)
	defer t.free()
	defer k.free()
	defer v.free()
	return failed(C.wp_worker_topic_set((*C.wp_worker)(ptr), kind.c(), t.ptr, k.ptr,
		v.ptr, &err), err)
}

func (w *nativeWorker) stop(deadlineMS int64) (int, error) {
	ptr, e := w.h.use()
	if e != nil {
		return 0, e
	}
	defer w.h.unuse()
	var (
		abandoned C.size_t
		err       *C.wp_error
	)
	status := C.wp_worker_stop(&abandoned, (*C.wp_worker)(ptr), C.int64_t(deadlineMS), &err)
	return int(abandoned), failed(status, err)
}

func (w *nativeWorker) addStore(store *Store, id string) error {
	ptr, e := w.h.use()
	if e != nil {
		return e
	}
	defer w.h.unuse()
	s, e := store.h.use()
	if e != nil {
		return e
	}
	defer store.h.unuse()
	var err *C.wp_error
	name := newText(id)
	defer name.free()
	return failed(C.wp_worker_add_store((*C.wp_worker)(ptr), (*C.wp_store)(s), name.ptr, &err), err)
}

func (w *nativeWorker) removeStore(id string, deadlineMS int64) (int, error) {
	ptr, e := w.h.use()
	if e != nil {
		return 0, e
	}
	defer w.h.unuse()
	var (
		abandoned C.size_t
		err       *C.wp_error
	)
	name := newText(id)
	defer name.free()
	status := C.wp_worker_remove_store(&abandoned, (*C.wp_worker)(ptr), name.ptr,
		C.int64_t(deadlineMS), &err)
	return int(abandoned), failed(status, err)
}

func (w *nativeWorker) setSelector(selector Selector) error {
	ptr, e := w.h.use()
	if e != nil {
		return e
	}
	defer w.h.unuse()
	var err *C.wp_error
	return failed(C.wpg_worker_set_selector((*C.wp_worker)(ptr), newUser(selector), &err), err)
}

//export waypostOnSelect
func waypostOnSelect(user C.uintptr_t, list *C.wp_candidates) (chosen C.size_t) {
	count := C.wp_candidates_count(list)
	chosen = count                   // no choice of ours
	defer func() { _ = recover() }() // nothing unwinds through C
	candidates := make([]Candidate, int(count))
	for i := range candidates {
		n := C.size_t(i)
		candidates[i] = Candidate{C.GoString(C.wp_candidates_store_id(list, n)),
			int(C.wp_candidates_ready(list, n)), int(C.wp_candidates_running(list, n))}
	}
	id := cgo.Handle(user).Value().(Selector)(candidates)
	for i := range candidates {
		if candidates[i].StoreID == id {
			return C.size_t(i)
		}
	}
	return count
}

func (w *nativeWorker) wake() {
	if ptr, err := w.h.use(); err == nil {
		defer w.h.unuse()
		C.wp_worker_wake((*C.wp_worker)(ptr))
	}
}

func (w *nativeWorker) drain(timeoutMS int64) (int, error) {
	ptr, e := w.h.use()
	if e != nil {
		return 0, e
	}
	defer w.h.unuse()
	var (
		handled C.size_t
		err     *C.wp_error
	)
	status := C.wp_worker_drain(&handled, (*C.wp_worker)(ptr), C.int64_t(timeoutMS), &err)
	return int(handled), failed(status, err)
}

func (w *nativeWorker) step() (int, error) {
	ptr, e := w.h.use()
	if e != nil {
		return 0, e
	}
	defer w.h.unuse()
	var (
		handled C.size_t
		err     *C.wp_error
	)
	status := C.wp_worker_step(&handled, (*C.wp_worker)(ptr), &err)
	return int(handled), failed(status, err)
}

func (w *nativeWorker) counters() Counters {
	return w.countersBy(func(worker *C.wp_worker, which C.wp_counter) C.int64_t {
		return C.wp_worker_counter(worker, which)
	})
}

func (w *nativeWorker) storeCounters(id string) Counters {
	name := newText(id)
	defer name.free()
	return w.countersBy(func(worker *C.wp_worker, which C.wp_counter) C.int64_t {
		return C.wp_worker_store_counter(worker, name.ptr, which)
	})
}

func (w *nativeWorker) countersBy(by func(*C.wp_worker, C.wp_counter) C.int64_t) Counters {
	ptr, err := w.h.use()
	if err != nil {
		return Counters{}
	}
	defer w.h.unuse()
	read := func(which C.wp_counter) int64 { return int64(by((*C.wp_worker)(ptr), which)) }
	return Counters{
		Claimed:    read(C.WP_COUNTER_CLAIMED),
		Acked:      read(C.WP_COUNTER_ACKED),
		Abandoned:  read(C.WP_COUNTER_ABANDONED),
		Failed:     read(C.WP_COUNTER_FAILED),
		Released:   read(C.WP_COUNTER_RELEASED),
		Reaped:     read(C.WP_COUNTER_REAPED),
		LeasesLost: read(C.WP_COUNTER_LEASES_LOST),
		Renewed:    read(C.WP_COUNTER_RENEWED),
		Polls:      read(C.WP_COUNTER_POLLS),
		Wakes:      read(C.WP_COUNTER_WAKES),
		Errors:     read(C.WP_COUNTER_ERRORS),
		Cancelled:  read(C.WP_COUNTER_CANCELLED),
	}
}

// ---- taking deliveries ----------------------------------------------------------------------

// taken is a delivery fresh from the core.
type taken struct {
	delivery *C.wp_delivery
	kind     Kind
	storeID  string
	engine   string
	message  Received
}

// engines are the names of engines as texts of Go's, which need no copy.
var engines = map[string]string{"sqlite": "sqlite", "postgresql": "postgresql"}

func engineOf(name *C.char) string {
	known, ok := engines[unsafe.String((*byte)(unsafe.Pointer(name)), int(C.strlen(name)))]
	if !ok {
		return C.GoString(name)
	}
	return known
}

// puller has room in C for what is taken in one call.
type puller struct {
	worker *nativeWorker
	items  *C.wpg_item
	max    int
}

func (w *nativeWorker) puller(max int) *puller {
	items := C.calloc(C.size_t(max), C.size_t(unsafe.Sizeof(C.wpg_item{})))
	return &puller{w, (*C.wpg_item)(items), max}
}

func (p *puller) free() { C.free(unsafe.Pointer(p.items)) }

// next waits for deliveries and calls take for each. topic finds a topic's name that is in memory.
func (p *puller) next(timeoutMS int64, topic func(Kind, []byte) string, take func(*taken)) error {
	ptr, e := p.worker.h.use()
	if e != nil {
		return e
	}
	defer p.worker.h.unuse()
	var (
		count C.size_t
		err   *C.wp_error
	)
	status := C.wpg_worker_next(p.items, &count, C.size_t(p.max), (*C.wp_worker)(ptr),
		C.int64_t(timeoutMS), &err)
	if status != C.WP_OK {
		return failed(status, err)
	}
	items := unsafe.Slice(p.items, p.max)[:int(count)]
	for i := range items {
		m := &items[i].message
		name := unsafe.Slice((*byte)(unsafe.Pointer(m.topic)), int(m.topic_len))
		one := taken{delivery: items[i].delivery, kind: Kind(items[i].source),
			engine: engineOf(items[i].engine), storeID: C.GoString(items[i].store_id)}
		received(&one.message, m, topic(one.kind, name))
		take(&one)
	}
	return nil
}

// nextCancelled waits for the next delivery whose handler should stop and calls tell with its key
// and the reason.
func (w *nativeWorker) nextCancelled(timeoutMS int64, tell func(unsafe.Pointer, error)) error {
	ptr, e := w.h.use()
	if e != nil {
		return e
	}
	defer w.h.unuse()
	var (
		out    *C.wp_delivery
		reason C.int
	)
	status := C.wpg_worker_next_cancelled(&out, &reason, (*C.wp_worker)(ptr), C.int64_t(timeoutMS))
	if status != C.WP_OK {
		return failed(status, nil)
	}
	tell(unsafe.Pointer(out), causeOf(reason))
	C.wp_delivery_free(out)
	return nil
}

func causeOf(reason C.int) error {
	switch reason {
	case C.WP_CANCEL_LEASE_LOST:
		return ErrLeaseLost
	case C.WP_CANCEL_TIMEOUT:
		return ErrTimeout
	case C.WP_CANCEL_STOP:
		return ErrStopped
	case C.WP_CANCEL_REQUESTED:
		return ErrCancelled
	default:
		return nil
	}
}

//export waypostOnDelivery
func waypostOnDelivery(user C.uintptr_t, delivery *C.wp_delivery) C.int {
	one := registrationOf(user)
	t := taken{delivery: C.wp_delivery_ref(delivery), kind: Kind(C.wp_delivery_source(delivery)),
		engine:  engineOf(C.wp_store_engine(C.wp_delivery_store(delivery))),
		storeID: C.GoString(C.wp_delivery_store_id(delivery))}
	var m C.wpg_received
	C.wpg_delivery_read(&m, delivery)
	received(&t.message, &m, one.topic)
	return C.int(one.manual.handle(one, &t))
}

// ---- deliveries -----------------------------------------------------------------------------

func (d *Delivery) own(t *taken) {
	d.Received = t.message
	d.kind, d.storeID, d.engine = t.kind, t.storeID, t.engine
	d.key = unsafe.Pointer(t.delivery)
	d.h.own(d.key, "delivery", freeDelivery)
}

func freeDelivery(ptr unsafe.Pointer) { C.wp_delivery_free((*C.wp_delivery)(ptr)) }

// finish tells the outcome and keeps the delivery, for settle.
func (d *Delivery) finish(how outcome, reason string, delayMS int64) error {
	ptr, e := d.h.use()
	if e != nil {
		return e
	}
	defer d.h.unuse()
	var err *C.wp_error
	text := optionalText(storable(reason))
	defer text.free()
	return failed(C.wp_delivery_finish((*C.wp_delivery)(ptr), C.wp_outcome(how), text.ptr,
		C.int64_t(delayMS), &err), err)
}

// end tells the outcome and drops the delivery.
func (d *Delivery) end(how outcome, reason string, delayMS int64) error {
	ptr := d.h.give()
	if ptr == nil { // another goroutine is using it, or has closed it
		err := d.finish(how, reason, delayMS)
		d.h.close()
		return err
	}
	defer live.Handles.Add(-1)
	var err *C.wp_error
	text := optionalText(storable(reason))
	defer text.free()
	return failed(C.wpg_delivery_end((*C.wp_delivery)(ptr), C.wp_outcome(how), text.ptr,
		C.int64_t(delayMS), &err), err)
}

func (d *Delivery) settle(timeoutMS int64) error {
	ptr, e := d.h.use()
	if e != nil {
		return e
	}
	defer d.h.unuse()
	var err *C.wp_error
	return failed(C.wp_delivery_settle((*C.wp_delivery)(ptr), C.int64_t(timeoutMS), &err), err)
}

func (d *Delivery) cancelled() error {
	ptr, err := d.h.use()
	if err != nil {
		return nil
	}
	defer d.h.unuse()
	return causeOf(C.int(C.wp_delivery_cancelled((*C.wp_delivery)(ptr))))
}

func (d *Delivery) completeOp() (*operation, error) {
	ptr, e := d.h.use()
	if e != nil {
		return nil, e
	}
	defer d.h.unuse()
	var (
		out *C.wp_op
		err *C.wp_error
	)
	if status := C.wp_delivery_complete_op(&out, (*C.wp_delivery)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return newOperation(out, d.engine), nil
}
