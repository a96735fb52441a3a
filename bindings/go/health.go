// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"encoding/json"
	"time"
)

// HealthStatus is how a store or a worker is.
type HealthStatus int

const (
	Healthy   HealthStatus = iota
	Degraded               // work is stale or overdue, or something will be in the way soon
	Unhealthy              // a store cannot be reached, its schema is older, or the worker does not run or is stuck
)

// String is "healthy", "degraded" or "unhealthy".
func (s HealthStatus) String() string {
	return [...]string{"healthy", "degraded", "unhealthy"}[min(max(s, Healthy), Unhealthy)]
}

// Health is a report.
type Health struct {
	Status HealthStatus
	Reason string          // all reasons, the worst first, in one line; "" if healthy
	Data   json.RawMessage // whatever is known, as the command waypost health --json prints it
}

// HealthOptions say what counts; the zero value: all of it, by the options health.*.
type HealthOptions struct {
	Scheduler bool          // only timers, jobs and their runs
	MaxAge    time.Duration // for how long a message may be ready; 0: health.overdue_ms; negative: for ever
	Limit     time.Duration // how long to wait for the database; 0: health.timeout_ms
}

func (o HealthOptions) maxAgeMS() int64 {
	switch {
	case o.MaxAge == 0:
		return -1
	case o.MaxAge < 0:
		return 0
	}
	return toMS(o.MaxAge)
}

// limitMS is no longer than the context lasts.
func (o HealthOptions) limitMS(ctx context.Context) int64 {
	limit := int64(-1)
	if o.Limit > 0 {
		limit = toMS(o.Limit)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := toMS(max(time.Until(deadline), 0)); o.Limit > 0 && left < limit {
			limit = left
		}
	}
	return limit
}

// Health tells whether the store does its work. An error: it could not be asked; a store that cannot be
// reached is Unhealthy.
func (s *Store) Health(ctx context.Context, options HealthOptions) (*Health, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.health(options, options.limitMS(ctx))
}

// Health tells whether the worker does its work, in all its stores.
func (w *Worker) Health(ctx context.Context, options HealthOptions) (*Health, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	core, err := w.current()
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return core.health(options, options.limitMS(ctx))
}
