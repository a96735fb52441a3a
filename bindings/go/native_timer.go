// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

func (t Timers) cancel(id ID) (bool, error) {
	return t.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_cancel(yes, store, nil, id.c(), err)
	})
}

func (t Timers) cancelOp(id ID) (*operation, error) {
	return t.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_cancel_op(out, store, id.c(), err)
	})
}

func (t Timers) reschedule(id ID, due time.Time) (bool, error) {
	return t.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_reschedule(yes, store, nil, id.c(), C.int64_t(toUS(due)), err)
	})
}

func (t Timers) rescheduleIn(id ID, delay time.Duration) (bool, error) {
	return t.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_reschedule_in(yes, store, nil, id.c(), C.int64_t(toMS(delay)), err)
	})
}

func (t Timers) rescheduleOp(id ID, due time.Time) (*operation, error) {
	return t.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_reschedule_op(out, store, id.c(), C.int64_t(toUS(due)), err)
	})
}

func (t Timers) rescheduleInOp(id ID, delay time.Duration) (*operation, error) {
	return t.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_reschedule_in_op(out, store, id.c(), C.int64_t(toMS(delay)), err)
	})
}

func freeTimers(list unsafe.Pointer) { C.wp_timers_free((*C.wp_timers)(list)) }

func (t Timers) listAfter(correlationID string, before unsafe.Pointer, limit int) (*Page[Info], error) {
	if err := checkText("correlation id", correlationID); err != nil {
		return nil, err
	}
	var (
		list *C.wp_timers
		last *C.wp_outbox_info
	)
	if count := C.wp_timers_count((*C.wp_timers)(before)); count > 0 {
		last = C.wp_timers_at((*C.wp_timers)(before), count-1)
	}
	id := optionalText(correlationID)
	defer id.free()
	e := t.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_timer_list(&list, store, id.ptr, last, C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]Info, int(C.wp_timers_count(list)))
	for i := range items {
		items[i] = infoOf(C.wp_timers_at(list, C.size_t(i)))
	}
	return newPage(items, unsafe.Pointer(list), freeTimers,
		func(list unsafe.Pointer) (*Page[Info], error) { return t.listAfter(correlationID, list, limit) }), nil
}
