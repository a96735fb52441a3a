// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// Inbox holds messages from elsewhere, each known by its source, its id and its consumer, so that one
// which is delivered again is not processed again.
//
// Three ways to use it: Enqueue what arrives, and let a worker handle it (Worker.HandleInbox); process
// it in the app's own transaction (Once); or ask whether it was processed (Check) and tell afterwards
// that it is (MarkProcessed).
//
// Where a method takes a connection, it belongs to the app's transaction there; nil: what it stores is
// committed when it returns.
type Inbox struct{ Queue }

// Inbox is the store's inbox.
func (s *Store) Inbox() Inbox { return Inbox{queueOf(s, InboxKind)} }

// InboxKey is what a message is known by, byte for byte, and the hash that it arrived with.
type InboxKey struct {
	Source    string // where it comes from: 1 to 255 UTF-16 code units
	MessageID string // its id there, likewise
	Consumer  string // who receives it: each consumer of one message processes it once
	Hash      []byte // of its content, up to 1,024 bytes, so that another content is noticed
	Algorithm string // what made the hash; "" is "sha256". Others are not compared
}

// InboxMessage is a message that arrived. It has no unique key: that is what the inbox's key is.
type InboxMessage struct {
	Key     InboxKey
	Message Message
}

// InboxState is in which state a message was found when it arrived.
type InboxState int

// The states in which messages are found. The zero state is none of them: nothing is known.
const (
	FoundNew        InboxState = iota + 1 // it arrives for the first time
	FoundSeen                             // it had arrived before, and nothing was made of it
	FoundProcessing                       // it is enqueued, or being processed
	FoundDone                             // it was processed
	FoundDead                             // it was given up
)

func (s InboxState) String() string {
	names := [...]string{"unknown", "new", "seen", "processing", "done", "dead"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// Arrival is what became of a message that arrived. The zero Arrival is none to proceed with.
type Arrival struct {
	ID       ID         // by which claims know it; zero after a Check without a connection
	Found    InboxState // how it was found
	Mismatch bool       // it is known by another hash: also logged as a warning, and no error
}

// Proceed tells after Once whether the message is the app's to process now.
func (a Arrival) Proceed() bool { return a.Found == FoundNew || a.Found == FoundSeen }

// InboxCounters are numbers that a store counts from when it was opened.
type InboxCounters struct {
	Checked    int64 // by Check and Once
	Enqueued   int64 // that were not known, or only seen
	Duplicates int64 // checked or enqueued, and known as processing, done or dead
	Mismatches int64 // known by another hash
}

// ---- arrival --------------------------------------------------------------------------------

// arrive runs an operation for one message on a connection of the app's.
func arrive(ctx context.Context, on Execer, begin func() (*operation, error)) (one Arrival, err error) {
	err = executeOn(ctx, on, begin, func(op *operation) error {
		all, err := op.arrivals()
		if err == nil && len(all) == 1 {
			one = all[0]
		}
		return err
	})
	return one, err
}

// Check notes that a message has arrived, and tells how it was found: FoundDone says that it was
// processed. The first hash is kept.
func (i Inbox) Check(ctx context.Context, on Execer, key InboxKey) (Arrival, error) {
	if err := ctx.Err(); err != nil {
		return Arrival{}, err
	}
	if on == nil {
		return i.check(&key)
	}
	return arrive(ctx, on, func() (*operation, error) { return i.checkOp(&key) })
}

// Enqueue enqueues a message for a worker. One that was only seen becomes ready. An unfinished one takes
// the new topic, payload, headers, correlation id, hash, due time and expiry, and keeps its attempts and
// its ordering key; a dead one likewise, and stays dead, unless the option inbox.revive_dead is on. One
// that is done stays as it is.
func (i Inbox) Enqueue(ctx context.Context, on Execer, key InboxKey, message Message) (Arrival, error) {
	all, err := i.EnqueueMany(ctx, on, []InboxMessage{{key, message}})
	if err != nil {
		return Arrival{}, err
	}
	return all[0], nil
}

// EnqueueMany enqueues up to 10,000 messages in one transaction. They are stored in the order of their
// keys, so that two such calls cannot deadlock.
func (i Inbox) EnqueueMany(ctx context.Context, on Execer,
	messages []InboxMessage) (all []Arrival, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if on == nil {
		return i.enqueueArrivals(messages, i.store.trace(ctx))
	}
	begin := func() (*operation, error) { return i.enqueueArrivalsOp(messages, i.store.trace(ctx)) }
	err = execute(ctx, on, begin, func(op *operation) (err error) {
		all, err = op.arrivals()
		return err
	})
	return all, err
}

// Once processes a message in the app's transaction, once. If Arrival.Proceed, it is the app's to
// process: make the writes, and commit. The commit makes it done together with them; after a rollback
// it is as before, and may be delivered again. If not, Found says why: FoundDone, FoundDead, or
// FoundProcessing, which is also said of one that another transaction is processing at this moment: try
// again later.
//
//	tx, err := db.BeginTx(ctx, nil)
//	defer tx.Rollback()
//	arrival, err := store.Inbox().Once(ctx, tx, key)
//	if err != nil || !arrival.Proceed() {
//		return err
//	}
//	tx.ExecContext(ctx, "INSERT ...")
//	return tx.Commit()
//
// On PostgreSQL it never waits for another call of its kind; in REPEATABLE READ or SERIALIZABLE the
// loser of a race may get a serialisation failure. ErrArgument: the connection is nil, or a *sql.DB
// or what embeds one, which has no transaction to join. Of other connections Waypost cannot know: begin one first.
func (i Inbox) Once(ctx context.Context, on Execer, key InboxKey) (Arrival, error) {
	if err := ctx.Err(); err != nil {
		return Arrival{}, err
	}
	bare, _ := unmarked(on)
	if db, err := asPool(bare); err != nil {
		return Arrival{}, err
	} else if db != nil {
		return Arrival{}, failure(ErrArgument, "the connection is a %T: Once needs a transaction", bare)
	}
	return arrive(ctx, on, func() (*operation, error) { return i.onceOp(&key) })
}

// ---- states by key --------------------------------------------------------------------------

func (i Inbox) marked(ctx context.Context, on Execer, key *InboxKey, how mark, reason string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if on == nil {
		return i.mark(key, how, reason)
	}
	begin := func() (*operation, error) { return i.markOp(key, how, reason) }
	return execute(ctx, on, begin, func(*operation) error { return nil })
}

// MarkProcessing says that the app processes a seen message itself: others find it FoundProcessing.
// There is no lease: if the app dies, it stays so until it is marked. ErrNotFound: the inbox does not
// know it, as of all below; ErrState: it is done or dead.
func (i Inbox) MarkProcessing(ctx context.Context, on Execer, key InboxKey) error {
	return i.marked(ctx, on, &key, markProcessing, "")
}

// MarkProcessed says that a message was processed, whatever it was before. A claim of it is lost.
func (i Inbox) MarkProcessed(ctx context.Context, on Execer, key InboxKey) error {
	return i.marked(ctx, on, &key, markProcessed, "")
}

// MarkDead gives a message up. A claim of it is lost. reason may be "". ErrState: it is done.
func (i Inbox) MarkDead(ctx context.Context, on Execer, key InboxKey, reason string) error {
	return i.marked(ctx, on, &key, markDead, reason)
}

// Revive makes a dead message ready again, with no attempts; one that had no topic is only seen again.
// ErrState: it is not dead.
func (i Inbox) Revive(ctx context.Context, on Execer, key InboxKey) error {
	return i.marked(ctx, on, &key, markRevived, "")
}

// ---- claims, and looking --------------------------------------------------------------------

// AbandonIn is Abandon on a connection of the app's.
func (i Inbox) AbandonIn(ctx context.Context, on Execer, owner ID, messages []Received,
	delay time.Duration, reason string) (int, error) {
	return i.end(ctx, on, &ending{toAbandon, owner, messages, reason, toMS(delay)})
}

// FailIn is Fail on a connection of the app's.
func (i Inbox) FailIn(ctx context.Context, on Execer, owner ID, messages []Received,
	reason string) (int, error) {
	return i.end(ctx, on, &ending{how: toFail, owner: owner, messages: messages, text: reason})
}

// Get looks a message up by its key. One that was only seen has no topic and no payload; one that the
// app marked as processing is InProgress and has no lease. ErrNotFound.
func (i Inbox) Get(ctx context.Context, key InboxKey) (*Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return i.getByKey(&key)
}

// GetByID looks a message up by its id. ErrNotFound.
func (i Inbox) GetByID(ctx context.Context, id ID) (*Info, error) { return i.lookUp(ctx, id) }
