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

// JoinWaitTopic is the topic of messages that wait for a join: see JoinWait.
const JoinWaitTopic = C.WP_JOIN_WAIT_TOPIC

// JoinStatus is where a join stands.
type JoinStatus int

// The states of a join.
const (
	JoinOpen      JoinStatus = C.WP_JOIN_OPEN      // it waits for members
	JoinCompleted JoinStatus = C.WP_JOIN_COMPLETED // over: as many as expected are finished
	JoinFailed    JoinStatus = C.WP_JOIN_FAILED    // over: the same, but one failed; or the deadline passed
	JoinCancelled JoinStatus = C.WP_JOIN_CANCELLED // over: by Joins.Cancel
)

func (s JoinStatus) String() string {
	names := map[JoinStatus]string{JoinOpen: "open", JoinCompleted: "completed", JoinFailed: "failed",
		JoinCancelled: "cancelled"}
	if name, ok := names[s]; ok {
		return name
	}
	return "unknown"
}

// MemberStatus is how a member of a join counted.
type MemberStatus int

// The states of a member.
const (
	MemberWaiting   MemberStatus = C.WP_JOIN_MEMBER_WAITING // it did not; if the join is over, never
	MemberCompleted MemberStatus = C.WP_JOIN_MEMBER_COMPLETED
	MemberFailed    MemberStatus = C.WP_JOIN_MEMBER_FAILED
)

func (s MemberStatus) String() string {
	names := map[MemberStatus]string{MemberWaiting: "waiting", MemberCompleted: "completed",
		MemberFailed: "failed"}
	if name, ok := names[s]; ok {
		return name
	}
	return "unknown"
}

// ---- start ----------------------------------------------------------------------------------

// newContinuation makes a message of C's, or nil.
func newContinuation(m *Message, trace Trace) (*C.wp_message, error) {
	if m == nil {
		return nil, nil
	}
	return newMessage(m, trace)
}

func newJoin(j *Join, trace Trace) (*C.wp_join, error) {
	if j.Timeout != 0 && !j.Deadline.IsZero() {
		return nil, failure(ErrArgument, "deadline and timeout exclude each other")
	}
	texts, e := joined(0, named{"grouping key", j.GroupingKey}, named{"metadata", j.Metadata})
	if e != nil {
		return nil, e
	}
	success, e := newContinuation(j.Success, trace)
	if e != nil {
		return nil, e
	}
	defer C.wp_message_free(success)
	onFailure, e := newContinuation(j.Failure, trace)
	if e != nil {
		return nil, e
	}
	defer C.wp_message_free(onFailure)
	var (
		set               C.int
		deadline, timeout C.int64_t
		out               *C.wp_join
		err               *C.wp_error
	)
	if !j.Deadline.IsZero() {
		set = C.WPG_DEADLINE
		deadline = C.int64_t(toUS(j.Deadline))
	}
	if j.Timeout != 0 {
		set = C.WPG_TIMEOUT
		timeout = C.int64_t(toMS(j.Timeout))
	}
	status := C.wpg_join_new(&out, C.int64_t(j.Expected), bytesOf(texts), cBool(j.FailIfAny), success,
		onFailure, set, deadline, timeout, &err)
	return out, failed(status, err)
}

func (j Joins) start(join *Join, trace Trace) (ID, error) {
	made, e := newJoin(join, trace)
	if e != nil {
		return ID{}, e
	}
	defer C.wp_join_free(made)
	var id C.wp_id
	e = j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_start(&id, store, nil, made, err)
	})
	return idOf(id), e
}

func (j Joins) startOp(join *Join, trace Trace) (*operation, error) {
	made, e := newJoin(join, trace)
	if e != nil {
		return nil, e
	}
	defer C.wp_join_free(made)
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_start_op(out, store, made, err)
	})
}

// ---- members --------------------------------------------------------------------------------

func (j Joins) attach(join ID, messages []ID) (int, error) {
	first, count := cIDs(messages)
	return j.store.counted(func(attached *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_attach(attached, store, nil, join.c(), first, count, err)
	})
}

func (j Joins) attachOp(join ID, messages []ID) (*operation, error) {
	first, count := cIDs(messages)
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_attach_op(out, store, join.c(), first, count, err)
	})
}

func (j Joins) reported(join ID, messages []ID, failed bool) (int, error) {
	first, count := cIDs(messages)
	return j.store.counted(func(counted *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_report(counted, store, nil, join.c(), first, count, cBool(failed), err)
	})
}

func (j Joins) reportOp(join ID, messages []ID, failed bool) (*operation, error) {
	first, count := cIDs(messages)
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_report_op(out, store, join.c(), first, count, cBool(failed), err)
	})
}

// ---- end it otherwise -----------------------------------------------------------------------

// cancel gives 1 if it cancelled the join.
func (j Joins) cancel(id ID) (int, error) {
	var yes C.int
	err := j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_cancel(&yes, store, nil, id.c(), err)
	})
	return int(yes), err
}

func (j Joins) cancelOp(id ID) (*operation, error) {
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_cancel_op(out, store, id.c(), err)
	})
}

func (j Joins) reap() (int, error) {
	return j.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_reap(count, store, err)
	})
}

func (j Joins) cleanup(olderThan time.Duration) (int, error) {
	return j.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_cleanup(count, store, C.int64_t(toMS(olderThan)), err)
	})
}

// ---- looking --------------------------------------------------------------------------------

// joinInfoOf copies what C owns.
func joinInfoOf(info *C.wp_join_info) JoinInfo {
	out := JoinInfo{
		ID:          idOf(*C.wp_join_info_id(info)),
		Status:      JoinStatus(C.wp_join_info_status(info)),
		Expected:    int64(C.wp_join_info_expected(info)),
		Completed:   int64(C.wp_join_info_completed(info)),
		Failed:      int64(C.wp_join_info_failed(info)),
		FailIfAny:   C.wp_join_info_fail_if_any(info) != 0,
		GroupingKey: C.GoString(C.wp_join_info_grouping_key(info)),
		Metadata:    C.GoString(C.wp_join_info_metadata(info)),
		Created:     fromUS(int64(C.wp_join_info_created_us(info))),
		Deadline:    fromOptionalUS(int64(C.wp_join_info_deadline_us(info))),
		Ended:       fromOptionalUS(int64(C.wp_join_info_ended_us(info))),
		Reason:      C.GoString(C.wp_join_info_reason(info)),
	}
	if id := C.wp_join_info_continuation(info); id != nil {
		out.Continuation = idOf(*id)
	}
	return out
}

func (j Joins) get(id ID) (*JoinInfo, error) {
	var info *C.wp_join_info
	e := j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_get(&info, store, id.c(), err)
	})
	if e != nil {
		return nil, e
	}
	defer C.wp_join_info_free(info)
	out := joinInfoOf(info)
	return &out, nil
}

func freeJoins(list unsafe.Pointer) { C.wp_joins_free((*C.wp_joins)(list)) }

func (j Joins) listAfter(groupingKey string, before unsafe.Pointer, limit int) (*Page[JoinInfo], error) {
	if err := checkText("grouping key", groupingKey); err != nil {
		return nil, err
	}
	var (
		list *C.wp_joins
		last *C.wp_join_info
	)
	if count := C.wp_joins_count((*C.wp_joins)(before)); count > 0 {
		last = C.wp_joins_at((*C.wp_joins)(before), count-1)
	}
	key := optionalText(groupingKey)
	defer key.free()
	e := j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_list(&list, store, key.ptr, last, C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]JoinInfo, int(C.wp_joins_count(list)))
	for i := range items {
		items[i] = joinInfoOf(C.wp_joins_at(list, C.size_t(i)))
	}
	return newPage(items, unsafe.Pointer(list), freeJoins,
		func(list unsafe.Pointer) (*Page[JoinInfo], error) { return j.listAfter(groupingKey, list, limit) }), nil
}

func freeMembers(list unsafe.Pointer) { C.wp_join_members_free((*C.wp_join_members)(list)) }

func (j Joins) membersAfter(join ID, before unsafe.Pointer, limit int) (*Page[JoinMember], error) {
	var list *C.wp_join_members
	e := j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_join_members_list(&list, store, join.c(), (*C.wp_join_members)(before),
			C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]JoinMember, int(C.wp_join_members_count(list)))
	for i := range items {
		index := C.size_t(i)
		items[i] = JoinMember{idOf(*C.wp_join_members_id(list, index)),
			MemberStatus(C.wp_join_members_status(list, index))}
	}
	return newPage(items, unsafe.Pointer(list), freeMembers,
		func(list unsafe.Pointer) (*Page[JoinMember], error) { return j.membersAfter(join, list, limit) }), nil
}
