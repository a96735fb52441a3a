// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// ---- pages ----------------------------------------------------------------------------------

// newPage makes a page that keeps what of C's the next one is read after.
func newPage[T any](items []T, list unsafe.Pointer, free func(unsafe.Pointer),
	after func(unsafe.Pointer) (*Page[T], error)) *Page[T] {
	p := &Page[T]{Items: items, after: after}
	p.h.own(list, "page", free)
	runtime.SetFinalizer(p, (*Page[T]).Close)
	return p
}

func (p *Page[T]) next() (*Page[T], error) {
	list, e := p.h.use()
	if e != nil {
		return nil, e
	}
	defer p.h.unuse()
	return p.after(list)
}

// ---- dead letters ---------------------------------------------------------------------------

func newFilter(filter *DeadFilter) (*C.wp_dead_filter, error) {
	texts, e := joined(0, named{"topic", filter.Topic}, named{"reason", filter.Reason})
	if e != nil {
		return nil, e
	}
	from, until := int64(0), int64(C.WP_TIME_US_MAX)
	if !filter.From.IsZero() {
		from = toUS(filter.From)
	}
	if !filter.Until.IsZero() {
		until = toUS(filter.Until)
	}
	wanted := filter.IDs
	if wanted != nil && len(wanted) == 0 {
		wanted = []ID{NewID()} // nobody's: to the core, no ids mean any
	}
	first, count := cIDs(wanted)
	var (
		out *C.wp_dead_filter
		err *C.wp_error
	)
	status := C.wpg_dead_filter_new(&out, bytesOf(texts), C.int64_t(from), C.int64_t(until), first,
		count, &err)
	return out, failed(status, err)
}

func freeDead(list unsafe.Pointer) { C.wp_dead_list_free((*C.wp_dead_list)(list)) }

func (q remains) deadAfter(filter DeadFilter, after unsafe.Pointer, limit int) (*Page[Info], error) {
	made, e := newFilter(&filter)
	if e != nil {
		return nil, e
	}
	defer C.wp_dead_filter_free(made)
	var list *C.wp_dead_list
	e = q.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_dead_list_read(&list, store, q.kind.c(), made, (*C.wp_dead_list)(after),
			C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]Info, int(C.wp_dead_list_count(list)))
	for i := range items {
		items[i] = infoOf(C.wp_dead_list_at(list, C.size_t(i)))
	}
	return newPage(items, unsafe.Pointer(list), freeDead,
		func(list unsafe.Pointer) (*Page[Info], error) { return q.deadAfter(filter, list, limit) }), nil
}

func (q remains) replay(filter *DeadFilter, limit, perSecond int64, by string) (int, error) {
	made, e := newFilter(filter)
	if e != nil {
		return 0, e
	}
	defer C.wp_dead_filter_free(made)
	if e := checkText("by", by); e != nil {
		return 0, e
	}
	who := optionalText(by)
	defer who.free()
	return q.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_dead_replay(count, store, q.kind.c(), made, C.int64_t(limit),
			C.int64_t(perSecond), who.ptr, err)
	})
}

func (q remains) purge(filter *DeadFilter, limit int64, by string) (int, error) {
	made, e := newFilter(filter)
	if e != nil {
		return 0, e
	}
	defer C.wp_dead_filter_free(made)
	if e := checkText("by", by); e != nil {
		return 0, e
	}
	who := optionalText(by)
	defer who.free()
	return q.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_dead_purge_by(count, store, q.kind.c(), made, C.int64_t(limit), who.ptr, err)
	})
}

func (q Queue) editDead(id ID, payload []byte, by string) (bool, error) {
	if e := checkText("by", by); e != nil {
		return false, e
	}
	who := optionalText(by)
	defer who.free()
	return q.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_dead_edit(yes, store, q.kind.c(), id.c(), bytesOf(payload), C.size_t(len(payload)), who.ptr, err)
	})
}

func (q remains) cleanup(olderThan time.Duration) (int, error) {
	return q.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_cleanup(count, store, q.kind.c(), C.int64_t(toMS(olderThan)), err)
	})
}
