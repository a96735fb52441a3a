// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waypost"
)

// scenario: OUT-001
// proves: OBX-001, OBX-003, BND-002
func TestEnqueueInTransactionIsSeenAfterTheCommit(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	must(b.outbox.Enqueue(ctx, tx, message("a", "1")))
	if b.url[:6] != "sqlite" {
		equal(t, b.count(), 0)
	}
	tx.Commit()
	equal(t, payloadsOf(b.claim()), []string{"1"})
}

// scenario: OUT-002
func TestEnqueueRolledBackLeavesNoTrace(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	made := must(b.outbox.Enqueue(ctx, tx, message("a", "1")))
	tx.Rollback()
	equal(t, b.count(), 0)
	_, err := b.outbox.Get(ctx, made.ID)
	fails(t, err, waypost.ErrNotFound)
}

// scenario: OUT-003
func TestEnqueueRolledBackToASavepointIsGone(t *testing.T) {
	b := newBed(t)
	conn := must(b.db.Conn(ctx))
	defer conn.Close()
	begin, save, back := "BEGIN", "SAVEPOINT s", "ROLLBACK TO s"
	if onSqlserver() {
		begin, save, back = "BEGIN TRANSACTION", "SAVE TRANSACTION s", "ROLLBACK TRANSACTION s"
	}
	b.exec(conn, begin)
	must(b.outbox.Enqueue(ctx, conn, message("kept", "1")))
	b.exec(conn, save)
	must(b.outbox.Enqueue(ctx, conn, message("gone", "2")))
	b.exec(conn, back)
	b.exec(conn, "COMMIT")
	equal(t, topicsOf(b.claim()), []string{"kept"})
}

// scenario: OUT-004
func TestEnqueueWithoutAConnectionIsDurableAtOnce(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(message("a", "1"))
	equal(t, must(b.live().Outbox().Get(ctx, made.ID)).State, waypost.Ready)
	made = must(b.outbox.Enqueue(ctx, b.db, message("a", "2")))
	equal(t, b.get(made.ID).State, waypost.Ready)
}

// scenario: OUT-005
func TestRowAndMessageCommitTogether(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	b.order(tx)
	must(b.outbox.Enqueue(ctx, tx, message("a", "1")))
	b.order(tx)
	equal(t, b.orderCount(), 0)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	equal(t, b.orderCount(), 2)
	equal(t, b.count(), 1)
}

// scenario: OUT-006
func TestBatchGivesAnIDForEachMessageInOrder(t *testing.T) {
	b := newBed(t)
	many := make([]waypost.Message, 50)
	for i := range many {
		many[i] = message("a", "x")
	}
	made := must(b.outbox.EnqueueMany(ctx, b.db, many))
	for i, m := range b.claim() {
		equal(t, m.ID, made[i].ID)
	}
	tx := b.begin()
	must(b.outbox.EnqueueMany(ctx, tx, many))
	tx.Rollback()
	equal(t, b.count(), 50)
	equal(t, len(must(b.outbox.EnqueueMany(ctx, nil, nil))), 0)
	equal(t, len(must(b.outbox.EnqueueMany(ctx, b.db, nil))), 0)
}

// scenario: OUT-007
func TestBatchWithOneBadMessageStoresNothing(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		_, err := b.outbox.EnqueueMany(ctx, on, []waypost.Message{message("a", "1"), message("", "2")})
		fails(t, err, waypost.ErrArgument)
	}
	equal(t, b.count(), 0)
}

// scenario: OUT-008
// proves: BND-004
func TestEmptyPayloadIsLegalAndNilIsNot(t *testing.T) {
	b := newBed(t)
	b.enqueue(message("a", ""))
	must(b.outbox.Enqueue(ctx, b.db, waypost.Message{Topic: "a", Payload: []byte{}}))
	equal(t, payloadsOf(b.claim()), []string{"", ""})
	for _, m := range []waypost.Message{{Topic: "a"}, message("", "x"), message("a\x00b", "x"),
		message("a", "nul \x00"), message("a", "\xff"), message("\xff", "x"),
		{Topic: "a", Payload: []byte("x"), Due: now, Delay: time.Second}} {
		_, err := b.outbox.Enqueue(ctx, nil, m)
		fails(t, err, waypost.ErrArgument)
	}
	equal(t, b.count(), 2)
}

// scenario: OUT-009
func TestTopicOf255UnitsPassesAndOf256DoesNot(t *testing.T) {
	b := newBed(t)
	for _, topic := range []string{strings.Repeat("a", 255), strings.Repeat("é", 255),
		strings.Repeat("\U0001f600", 127) + "a"} {
		b.enqueue(message(topic, "1"))
		equal(t, topicsOf(b.claim()), []string{topic})
		_, err := b.outbox.Enqueue(ctx, nil, message(topic+"a", "1"))
		fails(t, err, waypost.ErrArgument)
	}
}

// scenario: OUT-010
func TestCorrelationIDOf255UnitsPasses(t *testing.T) {
	b := newBed(t)
	for _, id := range []string{strings.Repeat("c", 255), ""} {
		b.enqueue(waypost.Message{Topic: "a", Payload: []byte("1"), CorrelationID: id})
		equal(t, b.claim()[0].CorrelationID, id)
	}
	_, err := b.outbox.Enqueue(ctx, nil, waypost.Message{Topic: "a", Payload: []byte("1"),
		CorrelationID: strings.Repeat("\U0001f600", 128)})
	fails(t, err, waypost.ErrArgument)
}

// scenario: OUT-011
func TestTopicsThatNearlyLookAlikeAreDifferent(t *testing.T) {
	b := newBed(t)
	alike := []string{"a", "A", "a ", " a", "\u00e9", "e\u0301"}
	for _, topic := range alike {
		b.enqueue(message(topic, "1"))
	}
	for _, topic := range alike {
		equal(t, topicsOf(b.claim(topic)), []string{topic})
	}
}

// scenario: OUT-012
func TestPayloadComesBackByteForByte(t *testing.T) {
	b := newBed(t)
	for _, payload := range []string{"{}", "\U0001f600 emoji, \u202e bidi, \ufeff bom", "line\r\n\t",
		"'; DROP TABLE orders; --", "\u0001\u001f\u007f\uffff", strings.Repeat("x", 5<<20),
		strings.Repeat("\U0001f600", 262144)} {
		for _, on := range []waypost.Execer{nil, b.db} {
			must(b.outbox.Enqueue(ctx, on, message("a", payload)))
			if got := string(b.claim()[0].Payload); got != payload {
				t.Fatalf("%d bytes came back as %d others", len(payload), len(got))
			}
		}
	}
}

// scenario: OUT-013
func TestHeadersComeBackAsTheyWereSet(t *testing.T) {
	b := newBed(t)
	headers := map[string]string{"traceparent": "00-4bf9-00f0-01", "empty": "",
		`"quoted"`: "a \"value\"\n", "emoji \U0001f600": "\U0001f600"}
	b.enqueue(waypost.Message{Topic: "a", Payload: []byte("1"), Headers: headers})
	b.enqueue(message("a", "2"))
	got := b.claim()
	equal(t, got[0].Headers, headers)
	equal(t, len(got[1].Headers), 0)
}

// scenario: OUT-014
func TestDueAndDelayHideTheMessageUntilThen(t *testing.T) {
	b := newBed(t)
	one := []byte("1")
	b.enqueue(waypost.Message{Topic: "due", Payload: one, Due: now.Add(10 * time.Second)})
	b.enqueue(waypost.Message{Topic: "delay", Payload: one, Delay: 20 * time.Second})
	b.enqueue(waypost.Message{Topic: "past", Payload: one, Due: now.Add(-10 * time.Second)})
	equal(t, topicsOf(b.claim()), []string{"past"})
	b.advance(10*time.Second - time.Microsecond)
	equal(t, len(b.claim()), 0)
	b.advance(time.Microsecond)
	equal(t, topicsOf(b.claim()), []string{"due"})
	b.advance(10 * time.Second)
	equal(t, topicsOf(b.claim()), []string{"delay"})
}

// scenario: OUT-015
func TestAttributesOnArrival(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(message("a", "1"))
	m := b.claim()[0]
	equal(t, m.ID, made.ID)
	equal(t, []int64{m.Attempt, m.ClaimNumber}, []int64{0, 1})
	equal(t, []bool{m.Created.Equal(now), m.Due.Equal(now), m.Expires.IsZero()}, []bool{true, true, true})
	equal(t, must(waypost.ParseID(strings.ToUpper(m.ID.String()))), m.ID)
}

// scenario: OUT-016
func TestExpiredMessageIsFailedAndNeverGivenOut(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(waypost.Message{Topic: "a", Payload: []byte("1"), Expires: now.Add(time.Second)})
	b.advance(time.Second)
	equal(t, len(b.claim()), 0)
	must(b.outbox.Reap(ctx))
	equal(t, b.get(made.ID).State, waypost.Failed)
	equal(t, b.get(made.ID).LastError, "expired")
}

func keyed(payload, key string) waypost.Message {
	return waypost.Message{Topic: "a", Payload: []byte(payload), OrderingKey: key}
}

// scenario: OUT-017
func TestOneOrderingKeyRunsOneAtATimeAndInOrder(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	for _, payload := range []string{"0", "1", "2"} {
		b.enqueue(keyed(payload, "k"))
	}
	for _, payload := range []string{"0", "1", "2"} {
		claim := b.claimAs(owner)
		equal(t, payloadsOf(claim), []string{payload})
		must(b.outbox.Abandon(ctx, owner, claim, 5*time.Second, ""))
		equal(t, len(b.claim()), 0)
		b.advance(5 * time.Second)
		claim = b.claimAs(owner)
		equal(t, payloadsOf(claim), []string{payload})
		must(b.outbox.Ack(ctx, nil, owner, claim, ""))
	}
}

// scenario: OUT-018
func TestBusyOrderingKeyDoesNotHoldUpOthers(t *testing.T) {
	b := newBed(t)
	for _, m := range []waypost.Message{keyed("k0", "k"), keyed("k1", "k"), keyed("other", "o"), keyed("free", "")} {
		b.enqueue(m)
	}
	equal(t, payloadsOf(b.claim()), []string{"k0", "other", "free"})
}

func unique(payload, key string) waypost.Message {
	return waypost.Message{Topic: "a", Payload: []byte(payload), UniqueKey: key}
}

// scenario: OUT-019
func TestUniqueKeyInUseIsADuplicate(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	first := b.enqueue(unique("1", "k"))
	equal(t, b.enqueue(unique("2", "k")), waypost.Enqueued{ID: first.ID, Duplicate: true})
	must(b.outbox.Ack(ctx, nil, owner, b.claimAs(owner), ""))
	equal(t, b.enqueue(unique("3", "k")).Duplicate, false)
}

// scenario: OUT-020
func TestUniqueKeyThatWasRolledBackSwallowsNothing(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	must(b.outbox.Enqueue(ctx, tx, unique("1", "k")))
	tx.Rollback()
	equal(t, must(b.outbox.Enqueue(ctx, b.db, unique("2", "k"))).Duplicate, false)
	equal(t, payloadsOf(b.claim()), []string{"2"})
}

// scenario: OUT-021
func TestDuplicatesWithinOneBatchAreToldApart(t *testing.T) {
	for _, own := range []bool{true, false} {
		b := newBed(t)
		var on waypost.Execer
		if !own {
			on = b.db
		}
		made := must(b.outbox.EnqueueMany(ctx, on, []waypost.Message{unique("1", "K"), unique("2", "K"), unique("3", "L")}))
		equal(t, []bool{made[0].Duplicate, made[1].Duplicate, made[2].Duplicate}, []bool{false, true, false})
		equal(t, made[0].ID, made[1].ID)
		equal(t, b.count(), 2)
	}
}

// scenario: OUT-022
func TestClaimOrderBatchAndEmptiness(t *testing.T) {
	b := newBed(t)
	for _, payload := range []string{"0", "1", "2"} {
		b.enqueue(message("a", payload))
	}
	b.enqueue(waypost.Message{Topic: "a", Payload: []byte("early"), Due: now.Add(-time.Second)})
	claim := func() []string {
		return payloadsOf(must(b.outbox.Claim(ctx, waypost.NewID(), nil, 2, time.Minute)))
	}
	equal(t, claim(), []string{"early", "0"})
	equal(t, claim(), []string{"1", "2"})
	equal(t, len(claim()), 0)
}

// scenario: OUT-023
func TestClaimedMessagesAreNotGivenOutAgain(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(message("a", "1"))
	equal(t, len(b.claim()), 1)
	equal(t, b.get(made.ID).LockedUntil, now.Add(30*time.Second))
	b.advance(29 * time.Second)
	must(b.outbox.Reap(ctx))
	equal(t, len(b.claim()), 0)
}

// scenario: OUT-024
func TestClaimOfSomeTopicsLeavesTheOthersAlone(t *testing.T) {
	b := newBed(t)
	for _, topic := range []string{"a", "b", "c"} {
		b.enqueue(message(topic, "1"))
	}
	equal(t, topicsOf(b.claim("a", "c")), []string{"a", "c"})
	equal(t, topicsOf(b.claim()), []string{"b"})
}

// scenario: OUT-025
func TestBadArgumentsOfAClaim(t *testing.T) {
	b := newBed(t)
	claim := func(owner waypost.ID, batch int, lease time.Duration) error {
		_, err := b.outbox.Claim(ctx, owner, nil, batch, lease)
		return err
	}
	fails(t, claim(waypost.NewID(), 0, time.Second), waypost.ErrRange)
	fails(t, claim(waypost.NewID(), 10001, time.Second), waypost.ErrRange)
	fails(t, claim(waypost.NewID(), 1, 0), waypost.ErrRange)
	fails(t, claim(waypost.ID{}, 1, time.Second), waypost.ErrArgument)
}

// scenario: OUT-026
func TestAckIsForEverWithTimeAndName(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	made := b.enqueue(message("a", "1"))
	equal(t, must(b.outbox.Ack(ctx, nil, owner, b.claimAs(owner), "w1")), 1)
	info := b.get(made.ID)
	equal(t, info.State, waypost.Done)
	equal(t, info.FinishedBy, "w1")
	equal(t, info.Finished, now)
}

// scenario: OUT-027
func TestAbandonTakesADelayAndStoresTheReason(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	made := b.enqueue(message("a", "1"))
	equal(t, must(b.outbox.Abandon(ctx, owner, b.claimAs(owner), 5*time.Second, "why")), 1)
	info := b.get(made.ID)
	equal(t, info.LastError, "why")
	equal(t, info.NextAttempt, now.Add(5*time.Second))
	equal(t, len(b.claim()), 0)
	b.advance(5 * time.Second)
	claim := b.claimAs(owner)
	equal(t, claim[0].Attempt, 1)
	equal(t, claim[0].LastError, "why")
	must(b.outbox.Abandon(ctx, owner, claim, 0, ""))
	if next := b.get(made.ID).NextAttempt; !next.After(b.clock.Now()) {
		t.Fatal("no backoff")
	}
	_, err := b.outbox.Abandon(ctx, owner, claim, -time.Second, "")
	fails(t, err, waypost.ErrRange)
}

// scenario: OUT-028
func TestFailIsTerminalAndStoresTheReason(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	made := b.enqueue(message("a", "1"))
	equal(t, must(b.outbox.Fail(ctx, owner, b.claimAs(owner), "why")), 1)
	equal(t, b.get(made.ID).State, waypost.Failed)
	equal(t, b.get(made.ID).LastError, "why")
}

// scenario: OUT-029
func TestReleaseGivesBackAtOnce(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	b.enqueue(message("a", "1"))
	equal(t, must(b.outbox.Release(ctx, owner, b.claimAs(owner))), 1)
	equal(t, b.claim()[0].Attempt, 0)
}

// scenario: OUT-030
func TestRenewMakesTheLeaseLastFromNow(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	made := b.enqueue(message("a", "1"))
	claim := b.claimAs(owner)
	b.advance(6 * time.Second)
	equal(t, must(b.outbox.Renew(ctx, owner, claim, 30*time.Second)), 1)
	equal(t, b.get(made.ID).LockedUntil, now.Add(36*time.Second))
}

// scenario: OUT-031, OUT-032
func TestOnlyRowsThatTheOwnerHoldsChange(t *testing.T) {
	b := newBed(t)
	owner, other := waypost.NewID(), waypost.NewID()
	must(b.outbox.EnqueueMany(ctx, nil, []waypost.Message{message("a", "1"), message("b", "2")}))
	mine, theirs := b.claimAs(owner, "a")[0], b.claimAs(other, "b")[0]
	unknown := waypost.Received{ID: waypost.NewID(), ClaimNumber: 1}
	ack := func(messages ...waypost.Received) int {
		return must(b.outbox.Ack(ctx, nil, owner, messages, ""))
	}
	equal(t, ack(), 0)
	equal(t, ack(theirs, unknown), 0)
	equal(t, ack(mine, theirs, mine, unknown), 1)
	equal(t, ack(mine), 0)
	equal(t, b.get(theirs.ID).State, waypost.InProgress)
}

// scenario: OUT-033
func TestReapTurnsExpiredLeasesIntoRetries(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(message("a", "1"))
	b.claim()
	equal(t, must(b.outbox.Reap(ctx)), 0)
	b.advance(30 * time.Second)
	equal(t, must(b.outbox.Reap(ctx)), 1)
	equal(t, b.get(made.ID).Message.Attempt, 1)
}

// scenario: OUT-034
func TestLateAckOfAnEarlierClaimDoesNotFinishTheLaterOne(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	b.enqueue(message("a", "1"))
	early := b.claimAs(owner)
	b.advance(30 * time.Second)
	must(b.outbox.Reap(ctx))
	b.advance(time.Minute)
	late := b.claimAs(owner)
	equal(t, must(b.outbox.Ack(ctx, nil, owner, early, "")), 0)
	equal(t, must(b.outbox.Ack(ctx, nil, owner, late, "")), 1)
}

// scenario: OUT-035
func TestAckInTheAppsTransaction(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	made := b.enqueue(message("a", "1"))
	claim := b.claimAs(owner)
	for _, commit := range []bool{false, true} {
		tx := b.begin()
		b.order(tx)
		equal(t, must(b.outbox.Ack(ctx, tx, owner, claim, "w")), 1)
		if commit {
			tx.Commit()
		} else {
			tx.Rollback()
			equal(t, b.get(made.ID).State, waypost.InProgress)
		}
	}
	equal(t, b.get(made.ID).FinishedBy, "w")
	equal(t, b.orderCount(), 1)
}

// scenario: OUT-036
func TestStatisticsByTopic(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	for i := 0; i < 3; i++ {
		b.enqueue(message("a", "1"))
	}
	claim := b.claimAs(owner)
	must(b.outbox.Ack(ctx, nil, owner, claim[:1], ""))
	must(b.outbox.Fail(ctx, owner, claim[1:2], ""))
	b.enqueue(waypost.Message{Topic: "a", Payload: []byte("1"), Delay: time.Minute})
	for i := 0; i < 2; i++ {
		b.enqueue(waypost.Message{Topic: "b", Payload: []byte("1"), OrderingKey: "k"})
	}
	b.advance(3 * time.Second)
	stats := must(b.outbox.Stats(ctx, true))
	equal(t, stats.Topics["a"], waypost.Stats{Scheduled: 1, InProgress: 1, Done: 1, Failed: 1})
	equal(t, stats.Topics["b"], waypost.Stats{Ready: 1, Blocked: 1, OldestReadyAge: 3 * time.Second})
	equal(t, must(b.outbox.Stats(ctx, false)).Total.Done, 0)
}

// scenario: OUT-037
func TestLookAMessageUpInEachState(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	first, second := b.enqueue(keyed("0", "k")), b.enqueue(keyed("1", "k"))
	equal(t, b.get(first.ID).State.String(), "ready")
	equal(t, b.get(second.ID).State, waypost.Blocked)
	claim := b.claimAs(owner)
	equal(t, b.get(first.ID).State, waypost.InProgress)
	must(b.outbox.Ack(ctx, nil, owner, claim, ""))
	must(b.outbox.Fail(ctx, owner, b.claimAs(owner), ""))
	equal(t, b.get(second.ID).Message.OrderingKey, "k")
	_, err := b.outbox.Get(ctx, waypost.NewID())
	fails(t, err, waypost.ErrNotFound)
	var detail *waypost.Error
	equal(t, errors.As(err, &detail) && detail.Status == 4, true)
}

// scenario: OUT-038
func TestStoreWithoutItsSchemaIsAnError(t *testing.T) {
	b := newBed(t)
	url, none := b.url, waypost.WithOption("store.schema", "go_none")
	if strings.HasPrefix(url, "sqlite:") {
		path := filepath.Join(t.TempDir(), "new.db")
		must(0, os.WriteFile(path, nil, 0o600))
		url = "sqlite:" + path
	}
	_, err := waypost.Open(ctx, url, none)
	fails(t, err, waypost.ErrSchema)
	if strings.HasPrefix(url, "sqlite:") {
		for i := 0; i < 2; i++ {
			must(0, waypost.Deploy(ctx, url, none))
		}
		must(waypost.Open(ctx, url, none)).Close()
	} else {
		must(0, waypost.Deploy(ctx, url, b.options...))
	}
}

// proves: BND-004
func TestErrorsOfArgumentsAndStates(t *testing.T) {
	b := newBed(t)
	for _, url := range []string{"", "nonsense:", "sqlite:"} {
		_, err := waypost.Open(ctx, url)
		fails(t, err, waypost.ErrConfig)
	}
	_, err := waypost.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "missing.db"))
	fails(t, err, waypost.ErrUnavailable)
	_, err = waypost.Open(ctx, b.url, waypost.WithOption("no.key", "1"))
	fails(t, err, waypost.ErrConfig)
	_, err = b.store.Worker(waypost.WithOption("store.schema", "x"))
	fails(t, err, waypost.ErrConfig)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.outbox.Enqueue(over, nil, message("a", "1"))
	fails(t, err, context.Canceled)
	_, err = b.outbox.Enqueue(over, b.db, message("a", "1"))
	fails(t, err, context.Canceled)
	tx := b.begin()
	tx.Rollback()
	_, err = b.outbox.Enqueue(ctx, tx, message("a", "1"))
	if err == nil || !strings.Contains(err.Error(), "transaction has already been committed") {
		t.Fatal(err)
	}
	store := b.live()
	store.Close()
	store.Close()
	_, err = store.Outbox().Enqueue(ctx, nil, message("a", "1"))
	fails(t, err, waypost.ErrState)
	_, err = store.Worker()
	fails(t, err, waypost.ErrState)
	equal(t, b.count(), 0)
}

// proves: BND-004
func TestErrorsNameArgumentsAsGoDoes(t *testing.T) {
	b := newBed(t)
	says := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	_, err := b.outbox.Claim(ctx, waypost.NewID(), nil, 1, -time.Second)
	says(err, "lease is -1000 ms")
	m := message("t", "x")
	m.CorrelationID = strings.Repeat("x", 256)
	_, err = b.outbox.Enqueue(ctx, nil, m)
	says(err, "correlationID has 256")
	_, err = b.leases().Acquire(ctx, nil, "n", "me", 0)
	says(err, "duration is 0 ms")
	_, err = b.outbox.Cleanup(ctx, -time.Second)
	says(err, "olderThan is -1000 ms")
}
