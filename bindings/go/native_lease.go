// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

type leaseKind C.wp_lease_kind

const (
	exclusive leaseKind = C.WP_LEASE_EXCLUSIVE
	shared    leaseKind = C.WP_LEASE_SHARED
)

// ---- what the database says -----------------------------------------------------------------

// leaseInfoOf copies what C made, and frees it.
func leaseInfoOf(info *C.wp_lease_info) *LeaseInfo {
	if info == nil {
		return nil
	}
	defer C.wp_lease_info_free(info)
	return &LeaseInfo{
		Granted: C.wp_lease_info_granted(info) != 0,
		Fence:   int64(C.wp_lease_info_fence(info)),
		Until:   fromUS(int64(C.wp_lease_info_until_us(info))),
		Now:     fromUS(int64(C.wp_lease_info_now_us(info))),
		Owner:   C.GoString(C.wp_lease_info_owner(info)),
		Limit:   int(C.wp_lease_info_limit(info)),
		Holders: int(C.wp_lease_info_holders(info)),
	}
}

// cNames are the two texts that most calls take.
type cNames struct{ name, owner cText }

func (l *leaseCall) names() (cNames, error) {
	if err := checkText("name", l.name); err != nil {
		return cNames{}, err
	}
	if err := checkText("owner", l.owner); err != nil {
		return cNames{}, err
	}
	return cNames{newText(l.name), newText(l.owner)}, nil
}

func (n cNames) free() {
	n.name.free()
	n.owner.free()
}

// leaseCall is one call about a lease, and its arguments.
type leaseCall struct {
	how         C.wpg_lease_how
	name, owner string
	fence       int64
	ms          int64 // of a lease; of a semaphore that is set, the limit
}

const (
	leaseAcquire = C.WPG_LEASE_ACQUIRE
	leaseRenew   = C.WPG_LEASE_RENEW
	leaseRelease = C.WPG_LEASE_RELEASE
	leaseGet     = C.WPG_LEASE_GET
	leaseLimit   = C.WPG_LEASE_LIMIT
)

// direct makes the call on a connection of the store's.
func (l leases) direct(call *leaseCall) (info *LeaseInfo, released bool, e error) {
	names, e := call.names()
	if e != nil {
		return nil, false, e
	}
	defer names.free()
	var (
		out *C.wp_lease_info
		yes C.int
	)
	e = l.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_lease_call(&out, &yes, call.how, store, C.wp_lease_kind(l.kind), names.name.ptr,
			names.owner.ptr, C.int64_t(call.fence), C.int64_t(call.ms), err)
	})
	return leaseInfoOf(out), yes != 0, e
}

// begin makes an operation of the call.
func (l leases) begin(call *leaseCall) (*operation, error) {
	names, e := call.names()
	if e != nil {
		return nil, e
	}
	defer names.free()
	return l.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_lease_op(out, call.how, store, C.wp_lease_kind(l.kind), names.name.ptr,
			names.owner.ptr, C.int64_t(call.fence), C.int64_t(call.ms), err)
	})
}

func (o *operation) lease() (*LeaseInfo, error) {
	var (
		out *C.wp_lease_info
		err *C.wp_error
	)
	if status := C.wp_op_result_lease(&out, o.op, &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return leaseInfoOf(out), nil
}

func freeLeases(list unsafe.Pointer) { C.wp_leases_free((*C.wp_leases)(list)) }

// listAfter lists those behind a name; "": from the first on.
func (l leases) listAfter(after string, limit int) (*Page[ListedLease], error) {
	name := optionalText(after)
	defer name.free()
	var list *C.wp_leases
	e := l.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_lease_list(&list, store, C.wp_lease_kind(l.kind), name.ptr, C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]ListedLease, int(C.wp_leases_count(list)))
	for i := range items {
		at := C.size_t(i)
		items[i] = ListedLease{
			Name:    C.GoString(C.wp_leases_name(list, at)),
			Owner:   C.GoString(C.wp_leases_owner(list, at)),
			Until:   fromOptionalUS(int64(C.wp_leases_until_us(list, at))),
			Limit:   int(C.wp_leases_limit(list, at)),
			Holders: int(C.wp_leases_holders(list, at)),
		}
	}
	return newPage(items, unsafe.Pointer(list), freeLeases,
		func(unsafe.Pointer) (*Page[ListedLease], error) {
			return l.listAfter(items[len(items)-1].Name, limit)
		}), nil
}

func (l leases) cleanup(keep time.Duration) (int, error) {
	return l.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_lease_cleanup(count, store, C.int64_t(toMS(keep)), err)
	})
}

func (l leases) counters() (out LeaseCounters) {
	_ = l.store.call(func(store *C.wp_store, _ **C.wp_error) C.wp_status { // closed: all 0
		read := func(which C.wp_lease_counter) int64 { return int64(C.wp_lease_counter_read(store, which)) }
		out = LeaseCounters{
			Held:    read(C.WP_LEASE_COUNTER_HELD),
			Renewed: read(C.WP_LEASE_COUNTER_RENEWED),
			Lost:    read(C.WP_LEASE_COUNTER_LOST),
			Errors:  read(C.WP_LEASE_COUNTER_ERRORS),
			Batches: read(C.WP_LEASE_COUNTER_BATCHES),
		}
		return C.WP_OK
	})
	return out
}

// ---- leases that are kept -------------------------------------------------------------------

// tryHold acquires without waiting. Refused, it gives who has it, and after how long to try again for
// the attempt after so many.
func (l leases) tryHold(ctx context.Context, name, owner string, duration time.Duration,
	attempt int) (*Lease, *LeaseInfo, time.Duration, error) {
	names, e := (&leaseCall{name: name, owner: owner}).names()
	if e != nil {
		return nil, nil, 0, e
	}
	defer names.free()
	var (
		out     *C.wp_lease
		refused *C.wp_lease_info
		core    *C.wp_store
	)
	e = l.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		status := C.wp_lease_hold(&out, &refused, store, C.wp_lease_kind(l.kind), names.name.ptr,
			names.owner.ptr, C.int64_t(toMS(duration)), 0, err)
		if status == C.WP_OK {
			core = C.wp_store_ref(store)
		}
		return status
	})
	if e == nil {
		return l.ownLease(ctx, out, core), nil, 0, nil
	}
	var pause time.Duration
	if refused != nil {
		pause = time.Duration(C.wp_lease_retry_ms(refused, C.unsigned(attempt))) * time.Millisecond
	}
	return nil, leaseInfoOf(refused), pause, e
}

// ownLease takes over a lease, and a reference to its store, whose losses are waited for.
func (l leases) ownLease(ctx context.Context, ptr *C.wp_lease, store *C.wp_store) *Lease {
	cancelled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	lease := &Lease{
		held:  &held{key: unsafe.Pointer(ptr), cancel: cancel},
		name:  C.GoString(C.wp_lease_name(ptr)),
		owner: C.GoString(C.wp_lease_owner(ptr)),
		fence: int64(C.wp_lease_fence(ptr)),
	}
	lease.what = waitedFor{unsafe.Pointer(store), l.kind, lease.name}
	lease.ctx = context.WithValue(cancelled, heldKey{}, lease.held)
	lease.h.own(lease.key, "lease", func(ptr unsafe.Pointer) { C.wp_lease_free((*C.wp_lease)(ptr)) })
	losses.expect(lease.key, cancel, store)
	if C.wp_lease_check(ptr, nil) == C.WP_E_LEASE_LOST { // before that
		cancel(ErrLeaseLost)
	}
	runtime.SetFinalizer(lease.held, (*held).collected)
	return lease
}

// waitedFor names what those who wait for a name of the store are woken for.
func (l leases) waitedFor(name string) waitedFor {
	what := waitedFor{kind: l.kind, name: name}
	_ = l.store.call(func(store *C.wp_store, _ **C.wp_error) C.wp_status { // closed: nobody waits
		what.store = unsafe.Pointer(store)
		return C.WP_OK
	})
	return what
}

// pauseAfterError is after how long to try again after an error that may pass.
func pauseAfterError(attempt int) time.Duration {
	return time.Duration(C.wp_lease_retry_ms(nil, C.unsigned(attempt))) * time.Millisecond
}

func (l *Lease) native(f func(lease *C.wp_lease, err **C.wp_error) C.wp_status) error {
	ptr, e := l.h.use()
	if e != nil {
		return e
	}
	defer l.h.unuse()
	var err *C.wp_error
	status := f((*C.wp_lease)(ptr), &err)
	return failed(status, err)
}

func (l *Lease) check() error {
	return l.native(func(lease *C.wp_lease, err **C.wp_error) C.wp_status {
		return C.wp_lease_check(lease, err)
	})
}

func (l *Lease) renew() error {
	return l.native(func(lease *C.wp_lease, err **C.wp_error) C.wp_status {
		return C.wp_lease_renew_now(lease, err)
	})
}

func (l *Lease) end() error {
	return l.native(func(lease *C.wp_lease, err **C.wp_error) C.wp_status {
		return C.wp_lease_end(lease, err)
	})
}

// Remaining is how long work may go on if the lease cannot be renewed; 0: it is lost or released.
func (l *Lease) Remaining() (left time.Duration) {
	_ = l.native(func(lease *C.wp_lease, _ **C.wp_error) C.wp_status { // closed: 0
		left = time.Duration(C.wp_lease_remaining_ms(lease)) * time.Millisecond
		return C.WP_OK
	})
	return left
}

// ---- losses ---------------------------------------------------------------------------------

// watched are the leases whose loss is waited for, of all stores: one goroutine for each store that
// has some. It has no reference to a *Lease, so that the collector sees which are dropped.
type watched struct {
	mu      sync.Mutex
	cancels map[unsafe.Pointer]context.CancelCauseFunc
	stores  map[*C.wp_store]*watch
}

// watch is one goroutine's. more: a lease came since it last looked whether it is needed.
type watch struct{ more bool }

var losses = watched{cancels: map[unsafe.Pointer]context.CancelCauseFunc{},
	stores: map[*C.wp_store]*watch{}}

const lossMS = 1000 // the core's log is written in between

// expect has cancel called when a lease of a store is lost; it takes over the reference to the store.
func (w *watched) expect(lease unsafe.Pointer, cancel context.CancelCauseFunc, store *C.wp_store) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancels[lease] = cancel
	if known := w.stores[store]; known != nil {
		known.more = true
		C.wp_store_close(store)
		return
	}
	w.stores[store] = &watch{}
	go w.wait(store)
}

func (w *watched) forget(lease unsafe.Pointer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cancels, lease)
}

func (w *watched) wait(store *C.wp_store) {
	for {
		var lost *C.wp_lease
		switch C.wp_lease_next_lost(&lost, store, lossMS, nil) {
		case C.WP_OK:
			w.mu.Lock()
			cancel := w.cancels[unsafe.Pointer(lost)]
			w.mu.Unlock()
			if cancel != nil {
				cancel(ErrLeaseLost)
			}
			C.wp_lease_free(lost)
		case C.WP_E_TIMEOUT:
		default: // there is none
			if w.isOver(store) {
				C.wp_store_close(store)
				return
			}
		}
	}
}

func (w *watched) isOver(store *C.wp_store) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stores[store].more {
		w.stores[store].more = false
		return false
	}
	delete(w.stores, store)
	return true
}
