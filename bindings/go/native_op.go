// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"database/sql"
	"errors"
	"unsafe"
)

const roomForParams = 24

// operation is one under way on a connection of the app's.
type operation struct {
	op     *C.wp_op
	engine string
	params []C.wpg_param
	bytes  bool // the engine has columns of bytes; else its drivers give text as bytes
	named  bool // arguments are sql.NamedArg
}

// newOperation takes over op.
func newOperation(op *C.wp_op, engine string) *operation {
	return &operation{op: op, engine: engine, params: make([]C.wpg_param, roomForParams), bytes: engine == "sqlite"}
}

// prepare writes parameters as the engine's Go drivers want them, or as question marks; before the first statement.
func (o *operation) prepare(questions bool) error {
	var err *C.wp_error
	style := C.wp_paramstyle(C.WP_PARAM_QMARK)
	switch {
	case questions:
	case o.engine == "postgresql":
		style = C.WP_PARAM_NUMERIC
	case o.engine == "sqlserver":
		style = C.WP_PARAM_AT
		o.named = true
	}
	return failed(C.wp_op_set_paramstyle(o.op, style, &err), err)
}

// requireTransaction makes statements fail where the connection is in none, if the driver would not tell.
func (o *operation) requireTransaction() error {
	var err *C.wp_error
	return failed(C.wp_op_require_transaction(o.op, &err), err)
}

// isOver says whether a statement found no transaction.
func isOver(err error) bool {
	var server interface{ SQLErrorNumber() int32 } // go-mssqldb's Error
	return errors.As(err, &server) && server.SQLErrorNumber() == C.WP_OP_NO_TRANSACTION
}

func (o *operation) free() { C.wp_op_free(o.op) }

// next goes to the next statement; "" says that there is none.
func (o *operation) next() (query string, arguments []any, returnsRows bool, e error) {
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
		if o.named {
			arguments[i] = sql.Named(C.GoString(o.params[i].name), arguments[i])
		}
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
		case int16: // pgx gives integers as wide as the column
			status = C.wp_op_feed_int64(o.op, C.int64_t(v), &err)
		case bool:
			status = C.wp_op_feed_int64(o.op, C.int64_t(cBool(v)), &err)
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

// arrivals are the results of an operation of the inbox.
func (o *operation) arrivals() ([]Arrival, error) {
	results := make([]Arrival, o.count())
	for i := range results {
		id, err := o.id(i)
		if err != nil {
			return nil, err
		}
		index := C.size_t(i)
		results[i] = Arrival{id, InboxState(C.wp_op_result_found(o.op, index)),
			C.wp_op_result_mismatch(o.op, index) != 0}
	}
	return results, nil
}

// id is the id of one of the results.
func (o *operation) id(index int) (ID, error) {
	var (
		id  C.wp_id
		err *C.wp_error
	)
	status := C.wp_op_result_id(&id, o.op, C.size_t(index), &err)
	return idOf(id), failed(status, err)
}

func (o *operation) count() int { return int(C.wp_op_result_count(o.op)) }

func (o *operation) enqueued() ([]Enqueued, error) {
	results := make([]Enqueued, o.count())
	for i := range results {
		id, err := o.id(i)
		if err != nil {
			return nil, err
		}
		results[i] = Enqueued{id, C.wp_op_result_duplicate(o.op, C.size_t(i)) != 0}
	}
	return results, nil
}
