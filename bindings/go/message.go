// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// Message is a message to enqueue.
type Message struct {
	Topic         string            // 1 to 255 UTF-16 code units; case matters
	Payload       []byte            // UTF-8 without NUL; nil is an error, empty is not
	CorrelationID string            // "": none
	OrderingKey   string            // those with the same key run one at a time, in order
	UniqueKey     string            // while an unfinished message has it, a further one is a duplicate
	Headers       map[string]string // such as traceparent
	Due           time.Time         // hide it until then
	Delay         time.Duration     // hide it for so long, by the database's clock; not with Due
	Expires       time.Time         // from then on it is failed instead of handled
	Joins         []ID              // of which it is a member, of the outbox alone: up to 16
}

// NewMessage makes a message of a topic and a payload, which may be a string.
func NewMessage[P ~string | ~[]byte](topic string, payload P) Message {
	return Message{Topic: topic, Payload: []byte(payload)}
}

// Enqueued is what became of a message.
type Enqueued struct {
	ID        ID   // the message's id; of a duplicate, the first one's
	Duplicate bool // nothing was stored, because of the unique key
}

// Received is a message that was claimed.
type Received struct {
	ID            ID
	Topic         string
	Payload       []byte
	CorrelationID string // "": none
	OrderingKey   string // "": none
	Headers       map[string]string
	Attempt       int64     // how many attempts ended without success before this one
	LastError     string    // the reason of the last of them; "": there was none
	ClaimNumber   int64     // a fencing token: it rises with every claim of the message
	Created       time.Time // by the database's clock
	Due           time.Time
	Expires       time.Time // zero: never

	Key      InboxKey  // of a message of the inbox: what it is known by
	LastSeen time.Time // of a message of the inbox: when it arrived last; first it did at Created
	Job      string    // of a job's run: the job's name

	trace Trace
}

// Trace is the trace context that the headers hold; none if it is not as W3C says.
func (m *Received) Trace() Trace { return m.trace }

// Decode reads the payload as JSON.
func (m *Received) Decode(into any) error { return json.Unmarshal(m.Payload, into) }

// State is where a message stands.
type State int

// The states of a message.
const (
	Ready      State = iota // waiting: for its due time, its next attempt or a worker
	InProgress              // claimed
	Done                    // finished with success
	Failed                  // a dead letter
	Blocked                 // behind an earlier message with the same ordering key
	Seen                    // the inbox: arrived, but not enqueued
	Cancelled               // a timer that was cancelled
)

func (s State) String() string {
	names := [...]string{"ready", "in progress", "done", "failed", "blocked", "seen", "cancelled"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// Info is a message and where it stands.
type Info struct {
	State       State
	Kind        Kind // of which queue it is
	Message     Received
	NextAttempt time.Time // zero: it is finished
	LockedUntil time.Time // zero: it has no lease
	Finished    time.Time // zero: it is not
	FinishedBy  string
	LastError   string // the reason of the last failure
}

// Stats are the numbers of a topic.
type Stats struct {
	Ready          int64
	Scheduled      int64 // due or tried again later
	InProgress     int64
	Blocked        int64 // behind an ordering key
	Done           int64
	Failed         int64
	OldestReadyAge time.Duration // since it was due
	LeaseExpired   int64         // of those in progress: nobody has reaped them yet
	Paused         int64         // would be ready, but their topic is paused
}

// QueueStats are the numbers of all topics, and their sum (of the age, the greatest).
type QueueStats struct {
	Topics map[string]Stats
	Total  Stats
}

// ---- as the core wants it -------------------------------------------------------------------

// toUS is a time in microseconds since 1970.
func toUS(t time.Time) int64 { return t.UnixMicro() }

func fromUS(us int64) time.Time { return time.UnixMicro(us).UTC() }

// fromOptionalUS is fromUS where 0 stands for none.
func fromOptionalUS(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return fromUS(us)
}

// toMS is a duration in milliseconds, rounded up so that nothing is early.
func toMS(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond && ms < math.MaxInt64 {
		ms++
	}
	return ms
}

// checkText refuses what would be cut as a C text.
func checkText(name, text string) error {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return failure(ErrArgument, "%s holds a NUL character at byte %d", name, at)
	}
	return nil
}

// named is a text and what it is called in errors.
type named struct{ name, text string }

// joined writes texts one after the other, each with a NUL, with room for more of them.
func joined(room int, all ...named) ([]byte, error) {
	size := room
	for _, n := range all {
		if err := checkText(n.name, n.text); err != nil {
			return nil, err
		}
		size += len(n.text) + 1
	}
	texts := make([]byte, 0, size)
	for _, n := range all {
		texts = append(append(texts, n.text...), 0)
	}
	return texts, nil
}

// texts writes the names of a message one after the other, each with a NUL.
func (m *Message) texts() ([]byte, error) {
	room := 0
	for name, value := range m.Headers {
		if err := checkText("header name", name); err != nil {
			return nil, err
		}
		if err := checkText("header "+name, value); err != nil {
			return nil, err
		}
		room += len(name) + len(value) + 2
	}
	texts, err := joined(room, named{"topic", m.Topic}, named{"correlation id", m.CorrelationID},
		named{"ordering key", m.OrderingKey}, named{"unique key", m.UniqueKey})
	for name, value := range m.Headers {
		texts = append(append(texts, name...), 0)
		texts = append(append(texts, value...), 0)
	}
	return texts, err
}
