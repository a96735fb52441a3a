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

func openStore(config *nativeConfig) (*Store, error) {
	ptr, e := config.use()
	if e != nil {
		return nil, e
	}
	defer config.unuse()
	var (
		out *C.wp_store
		err *C.wp_error
	)
	if status := C.wp_store_open(&out, (*C.wp_config)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownStore(out), nil
}

// ownStore takes over a reference to an open store.
func ownStore(out *C.wp_store) *Store {
	store := &Store{
		id:       C.GoString(C.wp_store_id(out)),
		location: C.GoString(C.wp_store_location(out)),
		engine:   C.GoString(C.wp_store_engine(out)),
	}
	store.h.own(unsafe.Pointer(out), "store", func(ptr unsafe.Pointer) {
		C.wp_store_close((*C.wp_store)(ptr))
	})
	runtime.SetFinalizer(store, (*Store).collected)
	return store
}

// ---- routers --------------------------------------------------------------------------------

func (r *Router) open() error {
	var (
		out *C.wp_router
		err *C.wp_error
	)
	if status := C.wp_router_new(&out, &err); status != C.WP_OK {
		return failed(status, err)
	}
	r.h.own(unsafe.Pointer(out), "router", func(ptr unsafe.Pointer) {
		C.wp_router_free((*C.wp_router)(ptr))
	})
	return nil
}

func (r *Router) set(configs []*nativeConfig) error {
	ptr, e := r.h.use()
	if e != nil {
		return e
	}
	defer r.h.unuse()
	list := (**C.wp_config)(C.calloc(C.size_t(len(configs)+1), C.size_t(unsafe.Sizeof(ptr))))
	defer C.free(unsafe.Pointer(list))
	for i, config := range configs {
		one, e := config.use()
		if e != nil {
			return e
		}
		defer config.unuse()
		unsafe.Slice(list, len(configs))[i] = (*C.wp_config)(one)
	}
	var err *C.wp_error
	return failed(C.wp_router_set((*C.wp_router)(ptr), list, C.size_t(len(configs)), &err), err)
}

func (r *Router) get(key string) (*Store, error) {
	ptr, e := r.h.use()
	if e != nil {
		return nil, e
	}
	defer r.h.unuse()
	if e := checkText("key", key); e != nil {
		return nil, e
	}
	var (
		out *C.wp_store
		err *C.wp_error
	)
	name := newText(key)
	defer name.free()
	if status := C.wp_router_get(&out, (*C.wp_router)(ptr), name.ptr, &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownStore(out), nil
}

// Len is how many stores the router has.
func (r *Router) Len() int {
	ptr, e := r.h.use()
	if e != nil {
		return 0
	}
	defer r.h.unuse()
	return int(C.wp_router_count((*C.wp_router)(ptr)))
}

// ---- enqueue --------------------------------------------------------------------------------

func (s *Store) enqueue(messages []Message) ([]Enqueued, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	made, e := newMessages(messages)
	if e != nil || len(made) == 0 {
		return nil, e
	}
	defer made.free()
	var err *C.wp_error
	ids := make([]C.wp_id, len(made))
	duplicates := make([]C.int, len(made))
	status := C.wp_outbox_enqueue_many(&ids[0], &duplicates[0], (*C.wp_store)(store), nil, &made[0],
		C.size_t(len(made)), &err)
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	results := make([]Enqueued, len(made))
	for i := range results {
		results[i] = Enqueued{idOf(ids[i]), duplicates[i] != 0}
	}
	return results, nil
}

func (s *Store) enqueueOp(messages []Message) (*operation, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	made, e := newMessages(messages)
	if e != nil {
		return nil, e
	}
	defer made.free()
	var (
		out *C.wp_op
		err *C.wp_error
	)
	status := C.wp_outbox_enqueue_op(&out, (*C.wp_store)(store), unsafe.SliceData(made),
		C.size_t(len(made)), &err)
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	return newOperation(out, s.engine)
}

// ---- operations -----------------------------------------------------------------------------

const roomForParams = 24

// operation is one under way on a connection of the app's.
type operation struct {
	op     *C.wp_op
	params []C.wpg_param
	bytes  bool // the engine has columns of bytes; else its drivers give text as bytes
}

// newOperation takes over op and writes parameters as the engine's Go drivers want them.
func newOperation(op *C.wp_op, engine string) (*operation, error) {
	var err *C.wp_error
	o := &operation{op, make([]C.wpg_param, roomForParams), engine == "sqlite"}
	style := C.wp_paramstyle(C.WP_PARAM_QMARK)
	if engine == "postgresql" {
		style = C.WP_PARAM_NUMERIC
	}
	if status := C.wp_op_set_paramstyle(op, style, &err); status != C.WP_OK {
		o.free()
		return nil, failed(status, err)
	}
	return o, nil
}

func (o *operation) free() { C.wp_op_free(o.op) }

// next goes to the next statement; "" says that there is none.
func (o *operation) next() (sql string, arguments []any, returnsRows bool, e error) {
	var (
		text  *C.char
		rows  C.int
		count C.size_t
		err   *C.wp_error
	)
	status := C.wpg_op_next(&text, &rows, &count, &o.params[0], C.size_t(len(o.params)), o.op, &err)
	if status != C.WP_OK {
		return "", nil, false, failed(status, err)
	}
	if text == nil {
		return "", nil, false, nil
	}
	if int(count) > len(o.params) {
		return "", nil, false, failure(ErrInternal, "a statement has %d parameters", int(count))
	}
	arguments = make([]any, int(count))
	for i := range arguments {
		arguments[i] = argument(&o.params[i])
	}
	return C.GoString(text), arguments, rows != 0, nil
}

func argument(param *C.wpg_param) any {
	switch param._type {
	case C.WP_VALUE_INT64:
		return int64(param.i)
	case C.WP_VALUE_TEXT:
		return string(unsafe.Slice((*byte)(unsafe.Pointer(param.data)), int(param.len)))
	case C.WP_VALUE_BYTES:
		bytes := make([]byte, int(param.len)) // not nil, even if there are none
		copy(bytes, unsafe.Slice((*byte)(unsafe.Pointer(param.data)), int(param.len)))
		return bytes
	default:
		return nil
	}
}

// feed gives the operation one row.
func (o *operation) feed(values []any) error {
	var err *C.wp_error
	for _, value := range values {
		var status C.wp_status
		switch v := value.(type) {
		case nil:
			status = C.wp_op_feed_null(o.op, &err)
		case int64:
			status = C.wp_op_feed_int64(o.op, C.int64_t(v), &err)
		case int32:
			status = C.wp_op_feed_int64(o.op, C.int64_t(v), &err)
		case int:
			status = C.wp_op_feed_int64(o.op, C.int64_t(v), &err)
		case [16]byte: // pgx gives a uuid so
			text := ID(v).String()
			status = C.wp_op_feed_text(o.op, bytesOf([]byte(text)), C.size_t(len(text)), &err)
		case string:
			text := (*C.char)(unsafe.Pointer(unsafe.StringData(v)))
			status = C.wp_op_feed_text(o.op, text, C.size_t(len(v)), &err)
		case []byte:
			if !o.bytes {
				status = C.wp_op_feed_text(o.op, bytesOf(v), C.size_t(len(v)), &err)
				break
			}
			data := unsafe.Pointer(bytesOf(v))
			status = C.wp_op_feed_bytes(o.op, data, C.size_t(len(v)), &err)
		default:
			return failure(ErrArgument, "the connection's driver gave a %T for a column", value)
		}
		if status != C.WP_OK {
			return failed(status, err)
		}
	}
	return failed(C.wp_op_row(o.op, &err), err)
}

func (o *operation) count() int { return int(C.wp_op_result_count(o.op)) }

func (o *operation) enqueued() ([]Enqueued, error) {
	results := make([]Enqueued, o.count())
	for i := range results {
		var (
			id  C.wp_id
			err *C.wp_error
		)
		if status := C.wp_op_result_id(&id, o.op, C.size_t(i), &err); status != C.WP_OK {
			return nil, failed(status, err)
		}
		results[i] = Enqueued{idOf(id), C.wp_op_result_duplicate(o.op, C.size_t(i)) != 0}
	}
	return results, nil
}

// ---- claim and finish -----------------------------------------------------------------------

func (s *Store) claim(owner ID, topics []string, batch int64, leaseMS int64) ([]Received, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
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
	var (
		claim *C.wp_claim
		err   *C.wp_error
	)
	status := C.wp_outbox_claim(&claim, (*C.wp_store)(store), owner.c(), names,
		C.size_t(len(topics)), C.int64_t(batch), C.int64_t(leaseMS), &err)
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	defer C.wp_claim_free(claim)
	messages := make([]Received, int(C.wp_claim_count(claim)))
	var m C.wpg_received
	for i := range messages {
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
	if len(c.ids) == 0 {
		return (&ID{}).c(), nil, 0
	}
	var numbers *C.int64_t
	if c.numbers != nil {
		numbers = (*C.int64_t)(&c.numbers[0])
	}
	return c.ids[0].c(), numbers, C.size_t(len(c.ids))
}

type finish int

const (
	finishAck finish = iota
	finishAbandon
	finishFail
	finishRelease
	finishRenew
)

// finish calls wp_outbox_ack or one of its like. ms is a delay or a lease.
func (s *Store) finish(how finish, owner ID, c *claims, text string, ms int64) (int, error) {
	ptr, e := s.h.use()
	if e != nil {
		return 0, e
	}
	defer s.h.unuse()
	if how == finishAck {
		if e := checkText("worker", text); e != nil {
			return 0, e
		}
	}
	var (
		changed C.size_t
		err     *C.wp_error
		status  C.wp_status
	)
	store := (*C.wp_store)(ptr)
	ids, numbers, count := c.c()
	t := optionalText(storable(text))
	defer t.free()
	switch how {
	case finishAck:
		status = C.wp_outbox_ack(&changed, store, nil, owner.c(), ids, numbers, count, t.ptr, &err)
	case finishAbandon:
		status = C.wp_outbox_abandon(&changed, store, nil, owner.c(), ids, numbers, count,
			C.int64_t(ms), t.ptr, &err)
	case finishFail:
		status = C.wp_outbox_fail(&changed, store, nil, owner.c(), ids, numbers, count, t.ptr, &err)
	case finishRelease:
		status = C.wp_outbox_release(&changed, store, nil, owner.c(), ids, numbers, count, &err)
	case finishRenew:
		status = C.wp_outbox_renew(&changed, store, nil, owner.c(), ids, numbers, count,
			C.int64_t(ms), &err)
	}
	return int(changed), failed(status, err)
}

func (s *Store) ackOp(owner ID, c *claims, worker string) (*operation, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	if e := checkText("worker", worker); e != nil {
		return nil, e
	}
	var (
		out *C.wp_op
		err *C.wp_error
	)
	ids, numbers, count := c.c()
	name := optionalText(worker)
	defer name.free()
	status := C.wp_outbox_ack_op(&out, (*C.wp_store)(store), owner.c(), ids, numbers, count, name.ptr,
		&err)
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	return newOperation(out, s.engine)
}

func (s *Store) reap() (int, error) {
	store, e := s.h.use()
	if e != nil {
		return 0, e
	}
	defer s.h.unuse()
	var (
		changed C.size_t
		err     *C.wp_error
	)
	status := C.wp_outbox_reap(&changed, (*C.wp_store)(store), &err)
	return int(changed), failed(status, err)
}

// ---- looking --------------------------------------------------------------------------------

func (s *Store) get(id ID) (*Info, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	var (
		info *C.wp_outbox_info
		err  *C.wp_error
		m    C.wpg_received
	)
	if status := C.wp_outbox_get(&info, (*C.wp_store)(store), id.c(), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	defer C.wp_outbox_info_free(info)
	out := &Info{
		State:       State(C.wp_outbox_info_status(info)),
		NextAttempt: fromOptionalUS(int64(C.wp_outbox_info_next_attempt_us(info))),
		LockedUntil: fromOptionalUS(int64(C.wp_outbox_info_locked_until_us(info))),
		Finished:    fromOptionalUS(int64(C.wp_outbox_info_finished_us(info))),
		FinishedBy:  C.GoString(C.wp_outbox_info_finished_by(info)),
		LastError:   C.GoString(C.wp_outbox_info_last_error(info)),
	}
	C.wpg_received_read(&m, C.wp_outbox_info_message(info))
	received(&out.Message, &m, "")
	return out, nil
}

func (s *Store) stats(finished bool) (*OutboxStats, error) {
	store, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	var (
		stats *C.wp_outbox_stats
		err   *C.wp_error
		all   C.int
	)
	if finished {
		all = 1
	}
	status := C.wp_outbox_stats_read(&stats, (*C.wp_store)(store), all, &err)
	if status != C.WP_OK {
		return nil, failed(status, err)
	}
	defer C.wp_outbox_stats_free(stats)
	count := int(C.wp_outbox_stats_count(stats))
	out := &OutboxStats{Topics: make(map[string]Stats, count)}
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
	}
}
