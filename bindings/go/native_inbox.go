// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import "unsafe"

// ---- keys -----------------------------------------------------------------------------------

type cKeys []*C.wp_inbox_key

func (k cKeys) free() {
	for _, one := range k {
		C.wp_inbox_key_free(one)
	}
}

func newKey(key *InboxKey) (*C.wp_inbox_key, error) {
	texts, e := joined(0, named{"source", key.Source}, named{"message id", key.MessageID},
		named{"consumer", key.Consumer}, named{"hash algorithm", key.Algorithm})
	if e != nil {
		return nil, e
	}
	var (
		out *C.wp_inbox_key
		err *C.wp_error
	)
	status := C.wpg_key_new(&out, bytesOf(texts), bytesOf(key.Hash), C.size_t(len(key.Hash)), &err)
	return out, failed(status, err)
}

// withKey calls C with the store and a key.
func (s *Store) withKey(key *InboxKey, f func(store *C.wp_store, key *C.wp_inbox_key,
	err **C.wp_error) C.wp_status) error {
	made, e := newKey(key)
	if e != nil {
		return e
	}
	defer C.wp_inbox_key_free(made)
	return s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status { return f(store, made, err) })
}

func (s *Store) keyOp(key *InboxKey, f func(out **C.wp_op, store *C.wp_store, key *C.wp_inbox_key,
	err **C.wp_error) C.wp_status) (*operation, error) {
	made, e := newKey(key)
	if e != nil {
		return nil, e
	}
	defer C.wp_inbox_key_free(made)
	return s.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return f(out, store, made, err)
	})
}

// ---- arrival --------------------------------------------------------------------------------

func (i Inbox) check(key *InboxKey) (Arrival, error) {
	var (
		found    C.wp_inbox_state
		mismatch C.int
	)
	err := i.store.withKey(key, func(store *C.wp_store, key *C.wp_inbox_key,
		err **C.wp_error) C.wp_status {
		return C.wp_inbox_check(&found, &mismatch, store, nil, key, err)
	})
	return Arrival{Found: InboxState(found), Mismatch: mismatch != 0}, err
}

func (i Inbox) checkOp(key *InboxKey) (*operation, error) {
	return i.store.keyOp(key, func(out **C.wp_op, store *C.wp_store, key *C.wp_inbox_key,
		err **C.wp_error) C.wp_status {
		return C.wp_inbox_check_op(out, store, key, err)
	})
}

func (i Inbox) onceOp(key *InboxKey) (*operation, error) {
	return i.store.keyOp(key, func(out **C.wp_op, store *C.wp_store, key *C.wp_inbox_key,
		err **C.wp_error) C.wp_status {
		return C.wp_inbox_once_op(out, store, key, err)
	})
}

// newArrivals makes keys and messages of C's; the caller frees them.
func newArrivals(arrivals []InboxMessage, trace Trace) (cKeys, cMessages, error) {
	keys := make(cKeys, 0, len(arrivals))
	messages := make(cMessages, 0, len(arrivals))
	for i := range arrivals {
		key, err := newKey(&arrivals[i].Key)
		var message *C.wp_message
		if err == nil {
			keys = append(keys, key)
			message, err = newMessage(&arrivals[i].Message, trace)
		}
		if err != nil {
			keys.free()
			messages.free()
			return nil, nil, err
		}
		messages = append(messages, message)
	}
	return keys, messages, nil
}

func (i Inbox) enqueueArrivals(arrivals []InboxMessage, trace Trace) ([]Arrival, error) {
	keys, messages, e := newArrivals(arrivals, trace)
	if e != nil {
		return nil, e
	}
	defer keys.free()
	defer messages.free()
	room := len(arrivals) + 1
	ids, found := make([]C.wp_id, room), make([]C.wp_inbox_state, room)
	mismatches := make([]C.int, room)
	e = i.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_inbox_enqueue_many(&ids[0], &found[0], &mismatches[0], store, nil,
			unsafe.SliceData(keys), unsafe.SliceData(messages), C.size_t(len(arrivals)), err)
	})
	if e != nil {
		return nil, e
	}
	results := make([]Arrival, len(arrivals))
	for n := range results {
		results[n] = Arrival{idOf(ids[n]), InboxState(found[n]), mismatches[n] != 0}
	}
	return results, nil
}

func (i Inbox) enqueueArrivalsOp(arrivals []InboxMessage, trace Trace) (*operation, error) {
	keys, messages, e := newArrivals(arrivals, trace)
	if e != nil {
		return nil, e
	}
	defer keys.free()
	defer messages.free()
	return i.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_inbox_enqueue_op(out, store, unsafe.SliceData(keys), unsafe.SliceData(messages),
			C.size_t(len(arrivals)), err)
	})
}

// ---- states by key --------------------------------------------------------------------------

type mark C.wp_inbox_mark

const (
	markProcessing mark = C.WP_INBOX_MARK_PROCESSING
	markProcessed  mark = C.WP_INBOX_MARK_PROCESSED
	markDead       mark = C.WP_INBOX_MARK_DEAD
	markRevived    mark = C.WP_INBOX_MARK_REVIVED
)

func (i Inbox) mark(key *InboxKey, how mark, reason string) error {
	text := optionalText(storable(reason))
	defer text.free()
	return i.store.withKey(key, func(store *C.wp_store, key *C.wp_inbox_key,
		err **C.wp_error) C.wp_status {
		return C.wpg_inbox_mark(store, key, C.wp_inbox_mark(how), text.ptr, err)
	})
}

func (i Inbox) markOp(key *InboxKey, how mark, reason string) (*operation, error) {
	text := optionalText(storable(reason))
	defer text.free()
	return i.store.keyOp(key, func(out **C.wp_op, store *C.wp_store, key *C.wp_inbox_key,
		err **C.wp_error) C.wp_status {
		return C.wp_inbox_mark_op(out, store, key, C.wp_inbox_mark(how), text.ptr, err)
	})
}

// ---- looking --------------------------------------------------------------------------------

func (i Inbox) getByKey(key *InboxKey) (*Info, error) {
	made, e := newKey(key)
	if e != nil {
		return nil, e
	}
	defer C.wp_inbox_key_free(made)
	return i.store.info(func(out **C.wp_outbox_info, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_inbox_get(out, store, made, err)
	})
}

// Counters is what the store has counted of its inbox since it was opened.
func (i Inbox) Counters() InboxCounters {
	var out InboxCounters
	_ = i.store.call(func(store *C.wp_store, _ **C.wp_error) C.wp_status { // closed: all 0
		read := func(which C.wp_inbox_counter_id) int64 { return int64(C.wp_inbox_counter(store, which)) }
		out = InboxCounters{
			Checked:    read(C.WP_INBOX_COUNTER_CHECKED),
			Enqueued:   read(C.WP_INBOX_COUNTER_ENQUEUED),
			Duplicates: read(C.WP_INBOX_COUNTER_DUPLICATES),
			Mismatches: read(C.WP_INBOX_COUNTER_MISMATCHES),
		}
		return C.WP_OK
	})
	return out
}
