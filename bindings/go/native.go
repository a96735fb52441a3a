// SPDX-License-Identifier: Apache-2.0

package waypost

// The files native*.go are the only ones that touch C. Each call passes the address of its own
// error, and whoever owns an object keeps it in a handle. C gets numbers (cgo.Handle) in place of
// pointers to Go memory.

/*
#cgo pkg-config: waypost
#include "native.h"
*/
import "C"

import (
	"encoding/json"
	"regexp"
	"runtime"
	"runtime/cgo"
	"strings"
	"unsafe"

	"waypost/internal/live"
)

// ---- errors ---------------------------------------------------------------------------------

func statusName(status Status) string {
	return C.GoString(C.wp_status_name(C.wp_status(status)))
}

// failed makes a Go error of a status and what came with it, which is freed.
func failed(status C.wp_status, err *C.wp_error) error {
	if status == C.WP_OK {
		return nil
	}
	if err == nil {
		return &Error{Status: Status(status), Message: statusName(Status(status))}
	}
	defer C.wp_error_free(err)
	return &Error{
		Status:         Status(status),
		Message:        ofGo(Status(status), C.GoString(C.wp_error_message(err))),
		SQLState:       C.GoString(C.wp_error_sqlstate(err)),
		NativeCode:     int64(C.wp_error_native_code(err)),
		Retriable:      C.wp_error_retriable(err) != 0,
		OutcomeUnknown: C.wp_error_outcome_unknown(err) != 0,
	}
}

var timeArgument = regexp.MustCompile(`^(\w+)_(ms|us) is (-?\d+)`)

// ofGo names an argument of the core's as it is called here: times have no unit in their names, and
// names are not in snake case.
func ofGo(status Status, message string) string {
	if status != ErrArgument && status != ErrRange {
		return message
	}
	message = timeArgument.ReplaceAllString(message, "$1 is $3 $2")
	name, rest, found := strings.Cut(message, " ")
	if !found || !strings.Contains(name, "_") {
		return message
	}
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word == "id" {
			words[i+1] = "ID"
		} else if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "") + " " + rest
}

// ---- text -----------------------------------------------------------------------------------

// cText is a text for one call: nil for "" if it is optional.
type cText struct{ ptr *C.char }

func newText(text string) cText { return cText{C.CString(text)} }

func optionalText(text string) cText {
	if text == "" {
		return cText{}
	}
	return newText(text)
}

// withNameBy calls with a name, which errors call argument, and who does something to it, as C has them.
func withNameBy(argument, name, by string, f func(name, by *C.char) error) error {
	if err := checkText(argument, name); err != nil {
		return err
	}
	if err := checkText("by", by); err != nil {
		return err
	}
	what, who := newText(name), optionalText(by)
	defer what.free()
	defer who.free()
	return f(what.ptr, who.ptr)
}

func (t cText) free() {
	if t.ptr != nil {
		C.free(unsafe.Pointer(t.ptr))
	}
}

func ownedText(text *C.char) string {
	defer C.wp_text_free(text)
	return C.GoString(text)
}

// bytesOf is C's view of a slice, never NULL.
func bytesOf(data []byte) *C.char {
	if len(data) == 0 {
		return &noBytes
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(data)))
}

var noBytes C.char

func cBool(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

// ---- values that C refers to ----------------------------------------------------------------

func newUser(value any) C.uintptr_t {
	live.Handles.Add(1)
	return C.uintptr_t(cgo.NewHandle(value))
}

//export waypostOnDestroy
func waypostOnDestroy(user C.uintptr_t) {
	cgo.Handle(user).Delete()
	live.Handles.Add(-1)
}

func registrationOf(user C.uintptr_t) *registration {
	return cgo.Handle(user).Value().(*registration)
}

//export waypostOnLog
func waypostOnLog(user C.uintptr_t, level C.int, message, fields *C.char) {
	defer func() { _ = recover() }() // a log that fails must not fail the call that it is about
	log := cgo.Handle(user).Value().(func(int, string, string))
	log(int(level), C.GoString(message), C.GoString(fields))
}

// ---- ids ------------------------------------------------------------------------------------

// NewID makes a fresh id.
func NewID() ID {
	var out C.wp_id
	C.wp_id_new(&out)
	return idOf(out)
}

// ParseID reads the form of 36 characters, in either case.
func ParseID(text string) (ID, error) {
	if err := checkText("id", text); err != nil {
		return ID{}, err
	}
	var (
		out C.wp_id
		err *C.wp_error
	)
	c := newText(text)
	defer c.free()
	if status := C.wp_id_parse(&out, c.ptr, &err); status != C.WP_OK {
		return ID{}, failed(status, err)
	}
	return idOf(out), nil
}

func idOf(id C.wp_id) ID { return *(*ID)(unsafe.Pointer(&id)) }

func (id *ID) c() *C.wp_id { return (*C.wp_id)(unsafe.Pointer(id)) }

// cIDs is C's view of ids, never NULL.
func cIDs(ids []ID) (*C.wp_id, C.size_t) {
	if len(ids) == 0 {
		return &noIDs, 0
	}
	return ids[0].c(), C.size_t(len(ids))
}

var noIDs C.wp_id

// Version is the core's version, "major.minor.patch".
func Version() string { return C.GoString(C.wp_version()) }

// ---- configuration --------------------------------------------------------------------------

// DescribeOptions gives the whole table of options as Markdown.
func DescribeOptions() (string, error) {
	var (
		out *C.char
		err *C.wp_error
	)
	if status := C.wp_config_describe(&out, &err); status != C.WP_OK {
		return "", failed(status, err)
	}
	return ownedText(out), nil
}

type nativeConfig struct{ handle }

func newConfig() (*nativeConfig, error) {
	var (
		out *C.wp_config
		err *C.wp_error
	)
	if status := C.wp_config_new(&out, &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownConfig(out), nil
}

func (c *nativeConfig) set(key, value string) error {
	for _, text := range []string{key, value} {
		if err := checkText("the option "+key, text); err != nil {
			return err
		}
	}
	ptr, e := c.use()
	if e != nil {
		return e
	}
	defer c.unuse()
	var err *C.wp_error
	k, v := newText(key), newText(value)
	defer k.free()
	defer v.free()
	return failed(C.wp_config_set((*C.wp_config)(ptr), k.ptr, v.ptr, &err), err)
}

func (c *nativeConfig) get(key string) (string, error) {
	ptr, e := c.use()
	if e != nil {
		return "", e
	}
	defer c.unuse()
	var (
		out *C.char
		err *C.wp_error
	)
	k := newText(key)
	defer k.free()
	if status := C.wp_config_get(&out, (*C.wp_config)(ptr), k.ptr, &err); status != C.WP_OK {
		return "", failed(status, err)
	}
	return ownedText(out), nil
}

func (c *nativeConfig) loadJSON(text string) error {
	if err := checkText("the JSON text", text); err != nil {
		return err
	}
	ptr, e := c.use()
	if e != nil {
		return e
	}
	defer c.unuse()
	var err *C.wp_error
	t := newText(text)
	defer t.free()
	return failed(C.wp_config_load_json((*C.wp_config)(ptr), t.ptr, &err), err)
}

func (c *nativeConfig) loadEnv() error {
	ptr, e := c.use()
	if e != nil {
		return e
	}
	defer c.unuse()
	var err *C.wp_error
	return failed(C.wp_config_load_env((*C.wp_config)(ptr), &err), err)
}

func (c *nativeConfig) setLog(log func(level int, message, fields string)) error {
	ptr, e := c.use()
	if e != nil {
		return e
	}
	defer c.unuse()
	var err *C.wp_error
	return failed(C.wpg_config_set_log((*C.wp_config)(ptr), newUser(log), &err), err)
}

func (c *nativeConfig) setClock(clock *ManualClock) error {
	ptr, e := c.use()
	if e != nil {
		return e
	}
	defer c.unuse()
	tick, e := clock.h.use()
	if e != nil {
		return e
	}
	defer clock.h.unuse()
	var err *C.wp_error
	return failed(C.wp_config_set_clock((*C.wp_config)(ptr), (*C.wp_clock)(tick), &err), err)
}

func deploySchema(config *nativeConfig) error {
	ptr, e := config.use()
	if e != nil {
		return e
	}
	defer config.unuse()
	var err *C.wp_error
	return failed(C.wp_schema_deploy((*C.wp_config)(ptr), &err), err)
}

// ---- clocks ---------------------------------------------------------------------------------

func newClock(us int64) (*ManualClock, error) {
	var (
		out *C.wp_clock
		err *C.wp_error
	)
	if status := C.wp_clock_new_manual(&out, C.int64_t(us), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	clock := &ManualClock{}
	clock.h.own(unsafe.Pointer(out), "clock", func(ptr unsafe.Pointer) {
		C.wp_clock_free((*C.wp_clock)(ptr))
	})
	runtime.SetFinalizer(clock, (*ManualClock).Close)
	return clock, nil
}

func (c *ManualClock) advanceUS(us int64) error {
	ptr, e := c.h.use()
	if e != nil {
		return e
	}
	defer c.h.unuse()
	var err *C.wp_error
	return failed(C.wp_clock_advance_us((*C.wp_clock)(ptr), C.int64_t(us), &err), err)
}

func (c *ManualClock) jumpUS(us int64) error {
	ptr, e := c.h.use()
	if e != nil {
		return e
	}
	defer c.h.unuse()
	var err *C.wp_error
	return failed(C.wp_clock_jump_us((*C.wp_clock)(ptr), C.int64_t(us), &err), err)
}

func (c *ManualClock) us() int64 {
	ptr, err := c.h.use()
	if err != nil {
		return 0
	}
	defer c.h.unuse()
	return int64(C.wp_clock_utc_us((*C.wp_clock)(ptr)))
}

// ---- messages -------------------------------------------------------------------------------

type cMessages []*C.wp_message

// newMessages makes messages of C's; the caller frees them.
func newMessages(messages []Message, trace Trace) (cMessages, error) {
	made := make(cMessages, 0, len(messages))
	for i := range messages {
		one, err := newMessage(&messages[i], trace)
		if err != nil {
			made.free()
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

func (m cMessages) free() {
	for _, one := range m {
		C.wp_message_free(one)
	}
}

func newMessage(m *Message, trace Trace) (*C.wp_message, error) {
	if m.Payload == nil {
		return nil, failure(ErrArgument, "the payload is nil")
	}
	if m.Delay != 0 && !m.Due.IsZero() {
		return nil, failure(ErrArgument, "due and delay exclude each other")
	}
	texts, e := m.texts()
	if e != nil {
		return nil, e
	}
	joins, joinCount := cIDs(m.Joins)
	var (
		set               C.int
		due, delay, until C.int64_t
	)
	if !m.Due.IsZero() {
		set |= C.WPG_DUE
		due = C.int64_t(toUS(m.Due))
	}
	if m.Delay != 0 {
		set |= C.WPG_DELAY
		delay = C.int64_t(toMS(m.Delay))
	}
	if !m.Expires.IsZero() {
		set |= C.WPG_EXPIRES
		until = C.int64_t(toUS(m.Expires))
	}
	var (
		out *C.wp_message
		err *C.wp_error
	)
	status := C.wpg_message_new(&out, bytesOf(texts), C.size_t(len(m.Headers)), bytesOf(m.Payload),
		C.size_t(len(m.Payload)), set, due, delay, until, joins, joinCount, &err)
	if status == C.WP_OK && trace.Parent != "" {
		status = setTrace(out, trace, &err)
	}
	if status != C.WP_OK {
		C.wp_message_free(out)
		return nil, failed(status, err)
	}
	return out, nil
}

func setTrace(m *C.wp_message, trace Trace, err **C.wp_error) C.wp_status {
	parent, state := newText(trace.Parent), newText(trace.State)
	defer parent.free()
	defer state.free()
	return C.wp_message_set_trace(m, parent.ptr, state.ptr, err)
}

// traceIn reads the trace context of headers.
func traceIn(headers *C.char) (trace Trace) {
	var parent, state *C.char
	if C.wp_trace_read(&parent, &state, headers, nil) == C.WP_OK && parent != nil {
		trace.Parent, trace.State = C.GoString(parent), C.GoString(state)
	}
	C.wp_text_free(parent)
	C.wp_text_free(state)
	return trace
}

// received copies a message out of C's memory. topic is its topic, if the caller has it.
func received(out *Received, m *C.wpg_received, topic string) {
	out.ID = idOf(m.id)
	out.Topic = topic
	if topic == "" {
		out.Topic = C.GoStringN(m.topic, C.int(m.topic_len))
	}
	out.Payload = make([]byte, int(m.payload_len))
	copy(out.Payload, unsafe.Slice((*byte)(unsafe.Pointer(m.payload)), int(m.payload_len)))
	if m.correlation_id != nil {
		out.CorrelationID = C.GoString(m.correlation_id)
	}
	if m.ordering_key != nil {
		out.OrderingKey = C.GoString(m.ordering_key)
	}
	if headers := C.GoString(m.headers); headers != "{}" {
		_ = json.Unmarshal([]byte(headers), &out.Headers) // the core's own JSON
		out.trace = traceIn(m.headers)
	}
	out.Attempt = int64(m.attempt)
	if m.last_error != nil {
		out.LastError = C.GoString(m.last_error)
	}
	out.ClaimNumber = int64(m.claim_number)
	out.Created = fromUS(int64(m.created_us))
	out.Due = fromUS(int64(m.due_us))
	out.Expires = fromOptionalUS(int64(m.expires_us))
	if m.job != nil {
		out.Job = C.GoString(m.job)
	}
	if m.source != nil {
		out.LastSeen = fromUS(int64(m.last_seen_us))
		out.Key = InboxKey{Source: C.GoString(m.source), MessageID: C.GoString(m.message_id),
			Consumer: C.GoString(m.consumer), Algorithm: C.GoString(m.hash_algorithm)}
		if m.hash != nil {
			out.Key.Hash = C.GoBytes(unsafe.Pointer(m.hash), C.int(m.hash_len))
		}
	}
}

// copy makes a configuration with the same options, log and clock.
func (c *nativeConfig) copy() (*nativeConfig, error) {
	ptr, e := c.use()
	if e != nil {
		return nil, e
	}
	defer c.unuse()
	var (
		out *C.wp_config
		err *C.wp_error
	)
	if status := C.wp_config_copy(&out, (*C.wp_config)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownConfig(out), nil
}

func ownConfig(ptr *C.wp_config) *nativeConfig {
	config := &nativeConfig{}
	config.own(unsafe.Pointer(ptr), "configuration", func(ptr unsafe.Pointer) {
		C.wp_config_free((*C.wp_config)(ptr))
	})
	runtime.SetFinalizer(config, func(c *nativeConfig) { c.close() })
	return config
}
