// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// AuditEntry is what somebody changed by hand.
type AuditEntry struct {
	Number int64 // later ones have higher numbers
	At     time.Time
	By     string // "": nobody said
	// Action is "topic.pause", "topic.resume", "dead.replay", "dead.purge", "dead.edit", "job.pause",
	// "job.resume", "job.trigger", or what a later version knows.
	Action  string
	Kind    Kind   // in which queue; 0: in none
	Subject string // to what: a topic, a job's name, a message's id; "": to several
	Detail  string // more, as a JSON object; "": there is none
}

// Audit lists what was changed by hand, the latest first, in pages of 1 to 10,000: topics paused and
// resumed, dead letters replayed, purged and edited, jobs disabled, enabled and triggered.
func (s *Store) Audit(ctx context.Context, limit int) (*Page[AuditEntry], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.auditBefore(0, limit)
}
