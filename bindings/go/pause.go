// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// PausedTopic is a topic that workers leave alone until it is resumed.
type PausedTopic struct {
	Topic string
	Since time.Time
	By    string // "": nobody said
}

// Pause has all workers leave a topic alone until it is resumed, in the app's transaction if on is not
// nil. Handlers that run finish; what a worker has not started goes back. by, who says so, may be "". False:
// it was paused already.
func (q Queue) Pause(ctx context.Context, on Execer, topic, by string) (bool, error) {
	return q.change(ctx, on, false, topic, by)
}

// Resume lets a topic go on. False: it was not paused.
func (q Queue) Resume(ctx context.Context, on Execer, topic, by string) (bool, error) {
	return q.change(ctx, on, true, topic, by)
}

func (q Queue) change(ctx context.Context, on Execer, resumes bool, topic, by string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if on == nil {
		return q.pause(resumes, topic, by)
	}
	count, err := changed(ctx, on, func() (*operation, error) { return q.pauseOp(resumes, topic, by) })
	return count > 0, err
}

// Paused gives the topics of the queue that are paused.
func (q Queue) Paused(ctx context.Context) ([]PausedTopic, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.paused()
}
