// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"slices"
	"sync"
	"unsafe"
)

// waitedFor is what somebody waits for: a lease or a semaphore of a core store.
type waitedFor struct {
	store unsafe.Pointer
	kind  leaseKind
	name  string
}

// turns are those of this process who wait. Each release wakes one, who waits longest.
type turns struct {
	mu      sync.Mutex
	waiting map[waitedFor][]*turn
}

var releases = turns{waiting: map[waitedFor][]*turn{}}

// next says that one was released.
func (t *turns) next(what waitedFor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if queue := t.waiting[what]; len(queue) > 0 {
		t.remove(queue[0])
		queue[0].woken <- struct{}{} // it is empty: the place was taken since it was woken last
	}
}

// remove tells whether it was there; t.mu is held.
func (t *turns) remove(one *turn) bool {
	queue := t.waiting[one.what]
	i := slices.Index(queue, one)
	if i < 0 {
		return false
	}
	if len(queue) == 1 {
		delete(t.waiting, one.what)
	} else {
		t.waiting[one.what] = slices.Delete(slices.Clone(queue), i, i+1)
	}
	return true
}

// turn is the place of one who waits, taken anew before each attempt: so no release goes unheard. At the
// end it is given up, and a release that was not made use of goes to the next one.
type turn struct {
	what  waitedFor
	woken chan struct{}
	taken bool
}

func newTurn(what waitedFor) *turn { return &turn{what: what, woken: make(chan struct{}, 1)} }

func (one *turn) take() {
	releases.mu.Lock()
	defer releases.mu.Unlock()
	one.taken = true
	select {
	case <-one.woken: // that release is used up: the caller tries at once
	default:
	}
	if queue := releases.waiting[one.what]; !slices.Contains(queue, one) {
		releases.waiting[one.what] = append(queue, one)
	}
}

func (one *turn) leave() {
	releases.mu.Lock()
	unused := one.taken && !releases.remove(one)
	releases.mu.Unlock()
	if unused {
		releases.next(one.what)
	}
}
