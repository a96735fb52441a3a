// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Status says of what kind an error is. The numbers are those of the C API.
type Status int

// The kinds, to be compared with errors.Is:
//
//	if errors.Is(err, waypost.ErrLeaseLost) { ... }
//
// They are also the causes (context.Cause) with which the context of a handler is cancelled:
// ErrLeaseLost, ErrTimeout, ErrStopped, and ErrCancelled.
var (
	ErrArgument    error = Status(1)  // an argument is nil, empty, malformed or too long
	ErrRange       error = Status(2)  // a number is outside its range
	ErrState       error = Status(3)  // the call does not fit the object's state: closed, finished
	ErrNotFound    error = Status(4)  // what was asked for does not exist
	ErrLeaseLost   error = Status(5)  // the claim is no longer held; nothing was changed
	ErrUnavailable error = Status(6)  // the database cannot be reached, or stayed busy; try again
	ErrDatabase    error = Status(7)  // any other database error
	ErrSchema      error = Status(8)  // the schema is missing, or older than this library needs
	ErrConfig      error = Status(9)  // an unknown or bad option
	ErrNoMemory    error = Status(10) // the core is out of memory
	ErrTimeout     error = Status(11) // the time passed before anything happened
	ErrStopped     error = Status(12) // the worker is stopped
	ErrInternal    error = Status(13) // a fault of the library itself; please report it
)

// ErrCancelled is the cause with which the context of a handler is cancelled whose run somebody
// cancelled: see Runs.Cancel.
var ErrCancelled = errors.New("waypost: the run was cancelled")

const (
	statusOK      Status = 0
	statusTimeout Status = 11
	statusStopped Status = 12
)

func (s Status) Error() string { return "waypost: " + s.String() }

// String gives the kind's stable name, such as "lease lost".
func (s Status) String() string { return statusName(s) }

// Error is what Waypost reports. Errors of the app's own driver are not of this type: they come
// back wrapped as they are.
type Error struct {
	Status         Status // the kind; errors.Is(err, ErrNotFound) is the usual way to ask for it
	Message        string // a sentence without payloads and secrets
	SQLState       string // five characters, or ""
	NativeCode     int64  // the engine's own code (SQLite: the extended result code), or 0
	Retriable      bool   // the same call may well succeed later
	OutcomeUnknown bool   // a commit was sent, and its outcome is unknown
}

func (e *Error) Error() string { return "waypost: " + e.Message }

// Is makes errors.Is(err, ErrLeaseLost) and the like work.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

func failure(kind error, format string, args ...any) error {
	return &Error{Status: kind.(Status), Message: fmt.Sprintf(format, args...)}
}

// ---- what a handler answers -----------------------------------------------------------------

// ErrDeferred is what a handler returns that finishes its delivery later, from any goroutine, with
// Done, Retry, Reject or Release.
var ErrDeferred = errors.New("waypost: the delivery is finished later")

// ErrRelease is what a handler returns to give the message back at once as if it had never been
// started: its attempt stays as it was, and it may come again in the next moment. To wait, return
// Retry with a delay.
var ErrRelease = errors.New("waypost: the delivery is given back")

type retryError struct {
	err   error
	delay time.Duration
}

// Retry is what a handler returns to be called again after a delay; 0 is the backoff. Any other
// error does the same with the backoff. Past the limit of attempts the message is a dead letter.
func Retry(err error, delay time.Duration) error { return &retryError{err, delay} }

func (e *retryError) Error() string { return textOf(e.err) }
func (e *retryError) Unwrap() error { return e.err }

type rejectError struct{ err error }

// Reject is what a handler returns if the message will never succeed: it is a dead letter at once.
func Reject(err error) error { return &rejectError{err} }

func (e *rejectError) Error() string { return textOf(e.err) }
func (e *rejectError) Unwrap() error { return e.err }

// textOf is an error's text, whatever its Error method does.
func textOf(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}

// storable makes a text that every engine can store.
func storable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ReplaceAll(text, "\x00", `\0`)
}
