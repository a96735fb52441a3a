// SPDX-License-Identifier: Apache-2.0

package waypost

import "time"

// ManualClock is a clock that only moves when told to, for tests: see WithClock.
type ManualClock struct{ h handle }

// NewManualClock makes a clock that shows now.
func NewManualClock(now time.Time) (*ManualClock, error) { return newClock(toUS(now)) }

// Advance moves the wall clock and elapsed time forward; whatever was waiting for that, wakes.
func (c *ManualClock) Advance(d time.Duration) error { return c.advanceUS(d.Microseconds()) }

// Jump moves the wall clock alone, forward or back, as when an administrator sets it.
func (c *ManualClock) Jump(d time.Duration) error { return c.jumpUS(d.Microseconds()) }

// Now is what the clock shows.
func (c *ManualClock) Now() time.Time { return fromUS(c.us()) }

// Close gives the clock back. Stores and workers that use it go on.
func (c *ManualClock) Close() { c.h.close() }
