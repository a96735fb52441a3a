// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"testing"
	"time"
)

func isWoken(one *turn) bool {
	select {
	case <-one.woken:
		return true
	default:
		return false
	}
}

// proves: LSE-007
func TestReleasesWakeThoseWhoWaitInTheirOrder(t *testing.T) {
	what, other := waitedFor{kind: shared, name: "n"}, waitedFor{kind: exclusive, name: "n"}
	first, second, third := newTurn(what), newTurn(what), newTurn(what)
	stranger := newTurn(other)
	for _, one := range []*turn{first, second, third, stranger, first} {
		one.take()
	}
	expect := func(step string, woken ...*turn) {
		t.Helper()
		for _, one := range []*turn{first, second, third, stranger} {
			wanted := false
			for _, w := range woken {
				wanted = wanted || w == one
			}
			if isWoken(one) != wanted {
				t.Fatalf("%s: %v was woken, or was not", step, one)
			}
		}
	}
	expect("before")
	releases.next(what)
	expect("one release", first)
	first.take() // it was refused
	releases.next(what)
	releases.next(what)
	expect("two releases", second, third)
	third.take()
	second.leave() // without a try: the next one is told
	expect("a wake that was not used", first)
	first.take()
	third.leave()
	expect("one that was not woken goes")
	releases.next(what)
	first.take() // it tries for what it is woken for
	expect("a place taken anew")
	first.leave()
	stranger.leave()
	newTurn(what).leave() // never taken
	if len(releases.waiting) != 0 {
		t.Fatalf("%v still wait", releases.waiting)
	}
}

// proves: LSE-003, LSE-007
func TestReleaseOfALeaseWakesWhoWaitsForIt(t *testing.T) {
	ctx := context.Background()
	store, err := Open(ctx, "sqlite::memory:", WithDeploy())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	one := newTurn(store.Leases().waitedFor("n"))
	defer one.leave()
	one.take()
	for _, name := range []string{"m", "n"} {
		lease, err := store.Leases().TryHold(ctx, name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if isWoken(one) != (name == "n") {
			t.Fatalf("the release of %q woke who waits for \"n\", or did not", name)
		}
	}
}
