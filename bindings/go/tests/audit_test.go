// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waypost"
)

// notes are all of the audit's, read in pages of two.
func notes(b *bed) []waypost.AuditEntry {
	var all []waypost.AuditEntry
	page, err := b.store.Audit(ctx, 2)
	for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
		all = append(all, page.Items...)
	}
	must(0, err)
	page.Close()
	return all
}

// scenario: AUD-001
// proves: DLQ-001, WRK-008
func TestWhatIsChangedByHandIsNoted(t *testing.T) {
	b := newBed(t)
	equal(t, len(notes(b)), 0)
	first := b.enqueue(message("t", "1")).ID
	b.enqueue(message("t", "2"))
	bury(b, b.outbox.Queue, "broken")
	must(b.outbox.Pause(ctx, nil, "t", "Ann"))
	filter := waypost.DeadFilter{IDs: []waypost.ID{first}}
	equal(t, must(b.outbox.ReplayDead(ctx, filter, 9, 0, "Bob")), 1)
	filter = waypost.DeadFilter{Topic: "t", Reason: "broken"}
	equal(t, must(b.outbox.PurgeDead(ctx, filter, 9, "Cid")), 1)
	equal(t, must(b.outbox.PurgeDead(ctx, filter, 9, "Cid")), 0) // not noted
	told := notes(b)
	equal(t, len(told), 3)
	equal(t, told[0].Number > told[1].Number && told[1].Number > told[2].Number, true)
	equal(t, told[0], waypost.AuditEntry{Number: told[0].Number, At: now.Add(time.Millisecond), By: "Cid",
		Action: "dead.purge", Kind: waypost.OutboxKind,
		Detail: `{"count":1,"topic":"t","reason":"broken"}`})
	equal(t, [3]string{told[1].By, told[1].Action, told[1].Subject},
		[3]string{"Bob", "dead.replay", first.String()})
	equal(t, [3]string{told[2].Action, told[2].Subject, told[2].Detail}, [3]string{"topic.pause", "t", ""})
	_, err := b.store.Audit(ctx, 0)
	fails(t, err, waypost.ErrRange)
	_, err = b.outbox.PurgeDead(ctx, filter, 9, "a\x00b")
	fails(t, err, waypost.ErrArgument)
}

// proves: WRK-008
func TestWhatIsDoneToAJobByHandIsNotedWithWhoDidIt(t *testing.T) {
	b := newBed(t)
	b.put("j", waypost.Cron("@daily"))
	must(b.jobs().Trigger(ctx, "j"))
	equal(t, len(notes(b)), 0) // the app's own
	must(0, b.jobs().Disable(ctx, "j", "Ann"))
	must(0, b.jobs().Enable(ctx, "j", ""))
	must(b.jobs().TriggerBy(ctx, nil, "j", "Bob"))
	for _, commit := range []bool{false, true} {
		tx := b.begin()
		must(b.jobs().TriggerBy(ctx, tx, "j", "Cid"))
		if commit {
			must(0, tx.Commit())
		} else {
			must(0, tx.Rollback())
		}
	}
	var told [][3]string
	for _, note := range notes(b) {
		told = append(told, [3]string{note.Action, note.By, note.Subject})
	}
	equal(t, told, [][3]string{{"job.trigger", "Cid", "j"}, {"job.trigger", "Bob", "j"},
		{"job.resume", "", "j"}, {"job.pause", "Ann", "j"}})
	long := strings.Repeat("x", 256)
	fails(t, b.jobs().Enable(ctx, "j", long), waypost.ErrArgument)
	fails(t, b.jobs().Disable(ctx, "j", "a\x00b"), waypost.ErrArgument)
	_, err := b.jobs().TriggerBy(ctx, nil, "j", long)
	fails(t, err, waypost.ErrArgument)
}

// scenario: DED-006
// proves: DLQ-001
func TestDeadLetterIsEditedAndReplayed(t *testing.T) {
	each(t, func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID) {
		id := send("before", "t")
		bury(b, q, "broken")
		alive := send("alive", "other")
		equal(b.t, must(q.EditDead(ctx, id, []byte("new \u2603"), "Ann")), true)
		equal(b.t, must(q.EditDead(ctx, alive, []byte("new"), "")), false)
		equal(b.t, must(q.EditDead(ctx, waypost.NewID(), nil, "")), false)
		told := notes(b)
		equal(b.t, len(told), 1)
		equal(b.t, [3]string{told[0].By, told[0].Action, told[0].Subject},
			[3]string{"Ann", "dead.edit", id.String()})
		equal(b.t, told[0].Kind, q.Kind())
		equal(b.t, strings.Contains(told[0].Detail, `"newBytes":7`), true)
		equal(b.t, dead(q, waypost.DeadFilter{}), 1)
		equal(b.t, must(q.ReplayDead(ctx, waypost.DeadFilter{}, 1, 0, "")), 1)
		payloads := map[waypost.ID]string{}
		for _, m := range must(q.Claim(ctx, waypost.NewID(), nil, 9, time.Minute)) {
			payloads[m.ID] = string(m.Payload)
		}
		equal(b.t, payloads[id], "new \u2603")
		equal(b.t, payloads[alive] != "new", true)
		for _, payload := range []string{"a\x00b", "\xff"} {
			_, err := q.EditDead(ctx, id, []byte(payload), "")
			fails(b.t, err, waypost.ErrArgument)
		}
		_, err := q.EditDead(ctx, id, nil, "\x00")
		fails(b.t, err, waypost.ErrArgument)
	})
}

// scenario: LEA-010
// proves: LSE-001
func TestLeasesAndSemaphoresAreListedByName(t *testing.T) {
	b := newBed(t)
	leases, semaphores := b.store.Leases(), b.store.Semaphores()
	equal(t, len(must(semaphores.List(ctx, 9)).Items), 0)
	for _, name := range []string{"b", "a", "C"} {
		must(leases.Acquire(ctx, nil, name, "me", 10*time.Second))
	}
	equal(t, must(leases.Release(ctx, nil, "b", "me", 0)), true)
	listed := func() []waypost.ListedLease {
		var all []waypost.ListedLease
		page, err := leases.List(ctx, 2)
		for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
			all = append(all, page.Items...)
		}
		must(0, err)
		page.Close()
		return slices.DeleteFunc(all, func(l waypost.ListedLease) bool { return len(l.Name) > 1 }) // workers'
	}
	all := listed()
	equal(t, len(all), 3)
	until := now.Add(10 * time.Second)
	equal(t, all[0], waypost.ListedLease{Name: "C", Owner: "me", Until: until, Limit: 1, Holders: 1})
	equal(t, all[1].Name, "a")
	equal(t, all[2].Holders, 0) // released
	b.advance(10 * time.Second)
	equal(t, listed()[0], waypost.ListedLease{Name: "C", Owner: "me", Until: until, Limit: 1}) // expired
	must(0, semaphores.SetLimit(ctx, nil, "s", 2))
	must(semaphores.Acquire(ctx, nil, "s", "me", 5*time.Second))
	equal(t, must(semaphores.List(ctx, 9)).Items, []waypost.ListedLease{
		{Name: "s", Until: until.Add(5 * time.Second), Limit: 2, Holders: 1}})
	_, err := leases.List(ctx, 0)
	fails(t, err, waypost.ErrRange)
}
