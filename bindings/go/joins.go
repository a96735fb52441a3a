// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"encoding/json"
	"time"
)

// Join is a join to start: so many messages of the outbox are steps of one thing. Make it with NewJoin.
type Join struct {
	Expected    int           // how many members are to finish, from 1
	GroupingKey string        // by which it can be found: up to 255 UTF-16 code units; "": none
	Metadata    string        // of the app's own, up to 64 KiB; "": none
	FailIfAny   bool          // the join fails if any member failed; else it completes all the same
	Success     *Message      // enqueued when the join completes; nil: none
	Failure     *Message      // enqueued when it fails, by its deadline, too; nil: none
	Deadline    time.Time     // it fails if it is not over then; zero: none
	Timeout     time.Duration // the same, from the start on, by the database's clock; not with Deadline
}

// JoinOption is a part of a join.
type JoinOption func(*Join)

// NewJoin makes a join of so many members.
func NewJoin(expected int, options ...JoinOption) Join {
	join := Join{Expected: expected}
	for _, option := range options {
		option(&join)
	}
	return join
}

// GroupingKey is what joins can be found by: see Joins.List.
func GroupingKey(key string) JoinOption { return func(j *Join) { j.GroupingKey = key } }

// Metadata is text of the app's own.
func Metadata(text string) JoinOption { return func(j *Join) { j.Metadata = text } }

// FailIfAny has a join fail if any of its members failed.
func FailIfAny() JoinOption { return func(j *Join) { j.FailIfAny = true } }

// OnSuccess is the message that is enqueued, once, when the join completes. It may have headers, a
// correlation id and an ordering key, but no due time, expiry, unique key or joins.
func OnSuccess(message Message) JoinOption { return func(j *Join) { j.Success = &message } }

// OnFailure is the message that is enqueued, once, when the join fails. Otherwise as OnSuccess.
func OnFailure(message Message) JoinOption { return func(j *Join) { j.Failure = &message } }

// Deadline has a join fail, with the reason "timeout", if it is not over at an instant.
func Deadline(instant time.Time) JoinOption { return func(j *Join) { j.Deadline = instant } }

// JoinTimeout is Deadline with a time from the start on.
func JoinTimeout(d time.Duration) JoinOption { return func(j *Join) { j.Timeout = d } }

// JoinWait makes a message that waits for a join: it reaches the handler of JoinWaitTopic when the join
// is over. To wait is no failed attempt. Without such a join it is a dead letter.
func JoinWait(join ID) Message {
	payload, _ := json.Marshal(map[string]ID{"join": join}) // of an id it never fails
	return Message{Topic: JoinWaitTopic, Payload: payload}
}

// ---- joins in a store -----------------------------------------------------------------------

// Joins count messages of the outbox that belong together; when the last one is finished, the join is
// over, and a message that says so is enqueued, once, in the same transaction.
//
//	join, err := store.Joins().Start(ctx, tx, waypost.NewJoin(2, waypost.FailIfAny(),
//		waypost.OnSuccess(waypost.NewMessage("order.packed", `{"order": 7}`))))
//	message.Joins = []waypost.ID{join}
//	store.Outbox().Enqueue(ctx, tx, message)
//
// A member counts once: as completed when it is done, as failed when it is a dead letter or cancelled. A
// retry or a lost lease counts nothing, nor does a dead letter again that is replayed. There may be more
// members than expected: the first ones to finish count. What is over never changes again.
//
// Where a method takes a connection, it belongs to the app's transaction there; nil: what it stores is
// committed when it returns.
type Joins struct{ store *Store }

// Joins are the store's joins.
func (s *Store) Joins() Joins { return Joins{s} }

// JoinInfo is a join as it was when it was looked at.
type JoinInfo struct {
	ID           ID
	Status       JoinStatus
	Expected     int64 // how many members are to finish
	Completed    int64 // how many counted so; with the failed ones never more than are expected
	Failed       int64
	FailIfAny    bool
	GroupingKey  string    // "": none
	Metadata     string    // "": none
	Created      time.Time // by the database's clock
	Deadline     time.Time // zero: none
	Ended        time.Time // zero: it is open
	Reason       string    // why it failed, where that is not in its members: "timeout"
	Continuation ID        // the message that was enqueued for it; zero: none was
}

// JoinMember is a message that is a member of a join, and how it counted.
type JoinMember struct {
	Message ID
	Status  MemberStatus
}

// Start starts a join and returns its id.
func (j Joins) Start(ctx context.Context, on Execer, join Join) (id ID, err error) {
	if err := ctx.Err(); err != nil {
		return ID{}, err
	}
	if on == nil {
		return j.start(&join, j.store.trace(ctx))
	}
	begin := func() (*operation, error) { return j.startOp(&join, j.store.trace(ctx)) }
	err = execute(ctx, on, begin, func(op *operation) (err error) {
		id, err = op.id(0)
		return err
	})
	return id, err
}

// changed runs a call that gives how much it changed, on the app's connection if on is not nil.
func (j Joins) changed(ctx context.Context, on Execer, direct func() (int, error),
	begin func() (*operation, error)) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if on == nil {
		return direct()
	}
	return changed(ctx, on, begin)
}

// Attach makes up to 10,000 messages of the outbox members, and returns how many became so: those that
// are members stay so. One that is finished counts at once. Messages that are yet to be enqueued have
// Message.Joins. ErrNotFound: there is no such join, or no such message, and nothing was changed;
// ErrState: the join is over, and one of them is no member.
func (j Joins) Attach(ctx context.Context, on Execer, join ID, messages ...ID) (int, error) {
	return j.changed(ctx, on, func() (int, error) { return j.attach(join, messages) },
		func() (*operation, error) { return j.attachOp(join, messages) })
}

// ReportCompleted has up to 10,000 members count as completed, whatever their messages do, and returns
// how many counted now. What is no member or has counted is ignored, and so is all of a join that is
// over. ErrNotFound: there is no such join.
func (j Joins) ReportCompleted(ctx context.Context, on Execer, join ID, messages ...ID) (int, error) {
	return j.report(ctx, on, join, messages, false)
}

// ReportFailed is ReportCompleted for members that failed.
func (j Joins) ReportFailed(ctx context.Context, on Execer, join ID, messages ...ID) (int, error) {
	return j.report(ctx, on, join, messages, true)
}

func (j Joins) report(ctx context.Context, on Execer, join ID, messages []ID, failed bool) (int, error) {
	return j.changed(ctx, on, func() (int, error) { return j.reported(join, messages, failed) },
		func() (*operation, error) { return j.reportOp(join, messages, failed) })
}

// Cancel cancels a join. Its messages go on; none is enqueued for it. It returns false if the join is
// over, or there is none; then nothing is changed.
func (j Joins) Cancel(ctx context.Context, on Execer, id ID) (bool, error) {
	count, err := j.changed(ctx, on, func() (int, error) { return j.cancel(id) },
		func() (*operation, error) { return j.cancelOp(id) })
	return count > 0, err
}

// Reap fails the joins that are past their deadline, as workers do, and returns how many.
func (j Joins) Reap(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return j.reap()
}

// Cleanup deletes joins that were over at least so long ago, with all that is known of their members, in
// batches, and returns how many. Workers do this by themselves after join.keep_ms.
func (j Joins) Cleanup(ctx context.Context, olderThan time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return j.cleanup(olderThan)
}

// Get looks one join up. ErrNotFound: there is none.
func (j Joins) Get(ctx context.Context, id ID) (*JoinInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.get(id)
}

// List lists joins in the order in which they were started, in pages of 1 to 10,000: those that have a
// grouping key; or, if it is "", all.
func (j Joins) List(ctx context.Context, groupingKey string, limit int) (*Page[JoinInfo], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.listAfter(groupingKey, nil, limit)
}

// Members lists the members of a join in the order in which their messages were enqueued, in pages of 1
// to 10,000. A join that there is not has none.
func (j Joins) Members(ctx context.Context, join ID, limit int) (*Page[JoinMember], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.membersAfter(join, nil, limit)
}
