// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waypost"
)

// pair is a router with a store of the engine, "app", and a file beside it, "side".
type pair struct {
	*bed
	router  *waypost.Router
	sources map[string]waypost.Source
	stores  map[string]*waypost.Store

	mu    sync.Mutex
	order strings.Builder // the first letter of each delivery's store
}

func newPair(t *testing.T) *pair {
	b := newBed(t)
	p := &pair{bed: b, stores: map[string]*waypost.Store{}, sources: map[string]waypost.Source{
		"app":  {ID: "app", URL: b.url, Options: b.options},
		"side": {ID: "side", URL: "sqlite:" + filepath.Join(t.TempDir(), "side.db")},
	}}
	p.router = must(waypost.NewRouter(waypost.WithLogger(quiet), waypost.WithDeploy(),
		waypost.WithPoll(10*time.Millisecond, 50*time.Millisecond)))
	t.Cleanup(func() { p.router.Close() })
	p.set("app", "side")
	for id := range p.sources {
		p.stores[id] = must(p.router.Store(ctx, id))
		t.Cleanup(func() { p.stores[id].Close() })
	}
	return p
}

func (p *pair) set(ids ...string) {
	p.t.Helper()
	sources := []waypost.Source{}
	for _, id := range ids {
		sources = append(sources, p.sources[id])
	}
	if err := p.router.Set(sources...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) note(w *waypost.Worker) {
	p.handle(w, "t", func(_ context.Context, d delivery) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.order.WriteString(d.StoreID()[:1])
		if string(d.Payload) != d.StoreID() {
			return waypost.Reject(errors.New("it is another store's"))
		}
		return nil
	})
}

func (p *pair) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.order.String()
}

func (p *pair) send(id string, times int) {
	for range times {
		must(p.stores[id].Outbox().Enqueue(ctx, nil, message("t", id)))
	}
}

func (p *pair) total(id string) waypost.Stats {
	return must(p.stores[id].Outbox().Stats(ctx, true)).Total
}

func (p *pair) awaitDone(id string, count int64) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for p.total(id).Done != count {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %+v, not %d done", id, p.total(id), count)
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *pair) start(w *waypost.Worker) {
	p.t.Helper()
	if err := w.Start(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = w.Stop(ctx) })
}

// scenario: WRK-120
// proves: MDB-001, OBX-066, OBX-070
func TestStoresOfTwoEnginesEachMessageOnceAndFromItsOwn(t *testing.T) {
	p := newPair(t)
	w := must(p.router.Worker())
	p.note(w)
	p.start(w)
	for range 20 {
		p.send("app", 1)
		p.send("side", 1)
	}
	p.awaitDone("app", 20)
	p.awaitDone("side", 20)
	equal(t, strings.Count(p.seen(), "a"), 20)
	equal(t, strings.Count(p.seen(), "s"), 20)
	equal(t, w.Counters().Claimed, 40)
}

// scenario: WRK-121
// proves: MDB-001
func TestStoreThatFailsHoldsUpNoneOfTheOthers(t *testing.T) {
	p := newPair(t)
	p.sources["dead"] = waypost.Source{ID: "dead", URL: "postgresql://nobody@127.0.0.1:1/none"}
	p.set("dead", "app", "side")
	w := must(p.router.Worker())
	p.note(w)
	p.start(w)
	p.send("app", 5)
	p.send("side", 5)
	p.awaitDone("app", 5)
	p.awaitDone("side", 5)
	_, err := p.router.Store(ctx, "dead")
	fails(t, err, waypost.ErrUnavailable)
}

// scenario: WRK-122
// proves: OBX-078
func TestStoreRemovedAndAddedAgainLosesNothing(t *testing.T) {
	p := newPair(t)
	w := must(p.stores["side"].Worker())
	if err := w.AddStore(p.stores["app"], ""); err != nil {
		t.Fatal(err)
	}
	fails(t, w.AddStore(p.stores["app"], "app"), waypost.ErrState)
	fails(t, w.RemoveStore(ctx, "none"), waypost.ErrNotFound)
	p.note(w)
	p.send("app", 30)
	p.start(w)
	for p.seen() == "" {
		time.Sleep(time.Millisecond)
	}
	if err := w.RemoveStore(ctx, "app"); err != nil {
		t.Fatal(err)
	}
	equal(t, p.total("app").InProgress, 0)
	equal(t, p.total("app").Ready+p.total("app").Done, 30)
	p.send("side", 1)
	p.awaitDone("side", 1)
	if err := w.AddStore(p.stores["app"], "app"); err != nil {
		t.Fatal(err)
	}
	p.awaitDone("app", 30)
	equal(t, len(p.seen()), 31)
	equal(t, w.StoreCounters("none"), waypost.Counters{})
}

// scenario: WRK-123
// proves: OBX-072, OBX-073, OBX-074
func TestRouterKeyItsOutboxOrNotFound(t *testing.T) {
	p := newPair(t)
	equal(t, p.stores["app"].ID(), "app")
	equal(t, p.router.Len(), 2)
	id := waypost.NewID().String()
	other := p.sources["side"]
	other.ID = id
	if err := p.router.Set(p.sources["app"], other); err != nil {
		t.Fatal(err)
	}
	must(p.router.Enqueue(ctx, id, nil, message("t", "x")))
	equal(t, p.total("side").Ready, 1)
	equal(t, p.total("app").Ready, 0)
	_, err := p.router.Enqueue(ctx, "none", nil, message("t", "x"))
	fails(t, err, waypost.ErrNotFound)
	fails(t, p.router.Set(other, other), waypost.ErrArgument)
	fails(t, p.router.Set(waypost.Source{ID: "bad", URL: "sqlit:typo.db"}), waypost.ErrConfig)
	equal(t, p.router.Len(), 2)
	equal(t, strings.Join(must(p.router.IDs()), " "), "app "+id)
	p.router.Close()
	_, err = p.router.Store(ctx, "app")
	fails(t, err, waypost.ErrState)
}

// scenario: WRK-124
// proves: OBX-075, OBX-076, OBX-077, OBX-078, OBX-079
func TestDiscoveryIsFollowedAndKeepsWhatItHadWhenItFails(t *testing.T) {
	p := newPair(t)
	w := must(p.router.Worker())
	p.note(w)
	p.start(w)
	var found atomic.Pointer[[]waypost.Source] // nil: it fails
	var calls atomic.Int64
	found.Store(&[]waypost.Source{p.sources["app"]})
	discovering, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		ended <- p.router.Discover(discovering, time.Millisecond,
			func(context.Context) ([]waypost.Source, error) {
				calls.Add(1)
				if sources := found.Load(); sources != nil {
					return *sources, nil
				}
				return nil, errors.New("the catalogue cannot be read")
			})
	}()
	await := func(what string, condition func() bool) {
		for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	await("one is gone", func() bool { return p.router.Len() == 1 })
	p.send("app", 1)
	p.awaitDone("app", 1)
	found.Store(&[]waypost.Source{p.sources["app"], p.sources["side"]})
	await("one is new", func() bool { return p.router.Len() == 2 })
	p.send("side", 1)
	p.awaitDone("side", 1)
	found.Store(nil)
	before := calls.Load()
	await("it fails", func() bool { return calls.Load() > before+2 })
	equal(t, p.router.Len(), 2)
	p.send("app", 1)
	p.awaitDone("app", 2)
	stop()
	equal(t, <-ended, nil)
	p.set("side")
	p.send("side", 1)
	p.awaitDone("side", 2)
}

func preferApp(candidates []waypost.Candidate) string {
	for _, one := range candidates {
		if one.Ready < 1 || one.Running != 0 {
			return "side"
		}
	}
	return "app"
}

// scenario: WRK-125
// proves: OBX-067, OBX-068, OBX-069
func TestSelectionDecidesWhoseTurnItIs(t *testing.T) {
	p := newPair(t)
	for order, option := range map[string]waypost.Option{
		"asasas":  waypost.WithSelection("round-robin"),
		"aassas":  waypost.WithTurn(2),
		"aaasss":  waypost.WithSelection("drain-first"),
		"aaasss ": waypost.WithSelector(preferApp),
		"asasas ": waypost.WithSelector(func([]waypost.Candidate) string { panic("no choice") }),
	} {
		p.order.Reset()
		w := must(p.router.Worker(option))
		p.note(w)
		p.send("app", 3)
		p.send("side", 3)
		equal(t, must(w.Drain(ctx)), 6)
		equal(t, p.seen(), strings.TrimSpace(order))
	}
}
