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

// The kinds are the sources of the C API.
const (
	kindOutbox Kind = C.WP_SOURCE_OUTBOX
	kindInbox  Kind = C.WP_SOURCE_INBOX
	kindTimer  Kind = C.WP_SOURCE_TIMER
	kindJob    Kind = C.WP_SOURCE_JOB
)

func (k Kind) c() C.wp_source { return C.wp_source(k) }

// ---- calls on a store -----------------------------------------------------------------------

// call calls C with the store, which stays open meanwhile.
func (s *Store) call(f func(store *C.wp_store, err **C.wp_error) C.wp_status) error {
	ptr, e := s.h.use()
	if e != nil {
		return e
	}
	defer s.h.unuse()
	var err *C.wp_error
	status := f((*C.wp_store)(ptr), &err)
	return failed(status, err)
}

// operation makes an operation for a connection of the app's.
func (s *Store) operation(f func(out **C.wp_op, store *C.wp_store,
	err **C.wp_error) C.wp_status) (*operation, error) {
	var op *C.wp_op
	err := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status { return f(&op, store, err) })
	if err != nil {
		return nil, err
	}
	return newOperation(op, s.engine), nil
}

// counted is a call that gives how many rows it changed, also if it fails.
func (s *Store) counted(f func(count *C.size_t, store *C.wp_store,
	err **C.wp_error) C.wp_status) (int, error) {
	var count C.size_t
	err := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return f(&count, store, err)
	})
	return int(count), err
}

// told is a call that gives whether it changed something.
func (s *Store) told(f func(yes *C.int, store *C.wp_store,
	err **C.wp_error) C.wp_status) (bool, error) {
	var yes C.int
	err := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status { return f(&yes, store, err) })
	return yes != 0, err
}

// ---- enqueue --------------------------------------------------------------------------------

func (q Queue) enqueue(messages []Message, trace Trace) ([]Enqueued, error) {
	made, e := newMessages(messages, trace)
	if e != nil {
		return nil, e
	}
	defer made.free()
	ids := make([]C.wp_id, len(made)+1)
	duplicates := make([]C.int, len(made)+1)
	e = q.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_enqueue(&ids[0], &duplicates[0], q.kind.c(), store, unsafe.SliceData(made),
			C.size_t(len(made)), err)
	})
	if e != nil {
		return nil, e
	}
	results := make([]Enqueued, len(made))
	for i := range results {
		results[i] = Enqueued{idOf(ids[i]), duplicates[i] != 0}
	}
	return results, nil
}

func (q Queue) enqueueOp(messages []Message, trace Trace) (*operation, error) {
	made, e := newMessages(messages, trace)
	if e != nil {
		return nil, e
	}
	defer made.free()
	return q.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_enqueue_op(out, q.kind.c(), store, unsafe.SliceData(made), C.size_t(len(made)),
			err)
	})
}

// ---- claim and finish -----------------------------------------------------------------------

func (q Queue) claim(owner ID, topics []string, batch, leaseMS int64) ([]Received, error) {
	var names **C.char
	if topics != nil {
		size := C.size_t(len(topics)+1) * C.size_t(unsafe.Sizeof((*C.char)(nil)))
		names = (**C.char)(C.calloc(1, size))
		defer C.free(unsafe.Pointer(names))
		for i, topic := range topics {
			if err := checkText("topic", topic); err != nil {
				return nil, err
			}
			text := newText(topic)
			defer text.free()
			unsafe.Slice(names, len(topics))[i] = text.ptr
		}
	}
	var claim *C.wp_claim
	e := q.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_claim(&claim, q.kind.c(), store, owner.c(), names, C.size_t(len(topics)),
			C.int64_t(batch), C.int64_t(leaseMS), err)
	})
	if e != nil {
		return nil, e
	}
	defer C.wp_claim_free(claim)
	messages := make([]Received, int(C.wp_claim_count(claim)))
	for i := range messages {
		var m C.wpg_received
		C.wpg_received_read(&m, C.wp_claim_at(claim, C.size_t(i)))
		received(&messages[i], &m, "")
	}
	return messages, nil
}

// claims are ids and claim numbers, side by side.
type claims struct {
	ids     []ID
	numbers []int64
}

func (c *claims) c() (*C.wp_id, *C.int64_t, C.size_t) {
	ids, count := cIDs(c.ids)
	return ids, (*C.int64_t)(unsafe.SliceData(c.numbers)), count
}

type how C.wpg_how

const (
	toAck     how = C.WPG_ACK
	toAbandon how = C.WPG_ABANDON
	toFail    how = C.WPG_FAIL
	toRelease how = C.WPG_RELEASE
	toRenew   how = C.WPG_RENEW
)

// ending is how claimed messages are ended or renewed.
type ending struct {
	how      how
	owner    ID
	messages []Received
	text     string // a reason or a worker's name
	ms       int64  // a delay or a lease
}

// prepared gives the claims and the text, which the caller frees.
func (e *ending) prepared() (*claims, cText, error) {
	if e.how == toAck {
		if err := checkText("worker", e.text); err != nil {
			return nil, cText{}, err
		}
	}
	return claimsOf(e.messages), optionalText(storable(e.text)), nil
}

func (q Queue) finish(e *ending) (int, error) {
	claims, text, failure := e.prepared()
	if failure != nil {
		return 0, failure
	}
	defer text.free()
	ids, numbers, count := claims.c()
	return q.store.counted(func(changed *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_finish(changed, q.kind.c(), C.wpg_how(e.how), store, e.owner.c(), ids, numbers,
			count, text.ptr, C.int64_t(e.ms), err)
	})
}

func (q Queue) finishOp(e *ending) (*operation, error) {
	claims, text, failure := e.prepared()
	if failure != nil {
		return nil, failure
	}
	defer text.free()
	ids, numbers, count := claims.c()
	return q.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_finish_op(out, q.kind.c(), C.wpg_how(e.how), store, e.owner.c(), ids, numbers,
			count, text.ptr, C.int64_t(e.ms), err)
	})
}

func (q Queue) reap() (int, error) {
	return q.store.counted(func(changed *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_reap(changed, q.kind.c(), store, err)
	})
}

// ---- looking --------------------------------------------------------------------------------

func (q Queue) get(id ID) (*Info, error) {
	return q.store.info(func(out **C.wp_outbox_info, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_get(out, q.kind.c(), store, id.c(), err)
	})
}

func (s *Store) info(f func(out **C.wp_outbox_info, store *C.wp_store,
	err **C.wp_error) C.wp_status) (*Info, error) {
	var info *C.wp_outbox_info
	e := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status { return f(&info, store, err) })
	if e != nil {
		return nil, e
	}
	defer C.wp_outbox_info_free(info)
	out := infoOf(info)
	return &out, nil
}

// infoOf copies what C owns.
func infoOf(info *C.wp_outbox_info) Info {
	out := Info{
		State:       State(C.wp_outbox_info_status(info)),
		Kind:        Kind(C.wp_outbox_info_source(info)),
		NextAttempt: fromOptionalUS(int64(C.wp_outbox_info_next_attempt_us(info))),
		LockedUntil: fromOptionalUS(int64(C.wp_outbox_info_locked_until_us(info))),
		Finished:    fromOptionalUS(int64(C.wp_outbox_info_finished_us(info))),
		FinishedBy:  C.GoString(C.wp_outbox_info_finished_by(info)),
		LastError:   C.GoString(C.wp_outbox_info_last_error(info)),
	}
	var m C.wpg_received
	C.wpg_received_read(&m, C.wp_outbox_info_message(info))
	received(&out.Message, &m, "")
	return out
}

func (q Queue) stats(finished bool) (*QueueStats, error) {
	var stats *C.wp_outbox_stats
	e := q.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wpg_stats(&stats, q.kind.c(), store, cBool(finished), err)
	})
	if e != nil {
		return nil, e
	}
	defer C.wp_outbox_stats_free(stats)
	count := int(C.wp_outbox_stats_count(stats))
	out := &QueueStats{Topics: make(map[string]Stats, count)}
	for i := 0; i < count; i++ {
		index := C.size_t(i)
		out.Topics[C.GoString(C.wp_outbox_stats_topic(stats, index))] = statsOf(
			func(which C.wp_outbox_stat) int64 {
				return int64(C.wp_outbox_stats_value(stats, index, which))
			})
	}
	out.Total = statsOf(func(which C.wp_outbox_stat) int64 {
		return int64(C.wp_outbox_stats_total(stats, which))
	})
	return out, nil
}

func statsOf(read func(C.wp_outbox_stat) int64) Stats {
	return Stats{
		Ready:          read(C.WP_STAT_READY),
		Scheduled:      read(C.WP_STAT_SCHEDULED),
		InProgress:     read(C.WP_STAT_IN_PROGRESS),
		Blocked:        read(C.WP_STAT_BLOCKED),
		Done:           read(C.WP_STAT_DONE),
		Failed:         read(C.WP_STAT_FAILED),
		OldestReadyAge: time.Duration(read(C.WP_STAT_OLDEST_READY_AGE_US)) * time.Microsecond,
		LeaseExpired:   read(C.WP_STAT_LEASE_EXPIRED),
		Paused:         read(C.WP_STAT_PAUSED),
	}
}
