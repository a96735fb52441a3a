// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"encoding/json"
	"time"
)

// Sample is one number. Of a histogram they are name_bucket (by the label le), name_sum and name_count.
type Sample struct {
	Name   string            `json:"name"`
	Kind   string            `json:"kind"` // "counter", "gauge" or "histogram"
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// Metrics is a snapshot of what a worker and its stores have done and hold. docs/operations.md lists them.
type Metrics struct {
	Text    string // in Prometheus' text format
	Samples []Sample
}

// Value is the sum of the samples of a name that have these labels; 0: there are none.
func (m *Metrics) Value(name string, labels map[string]string) (sum float64) {
next:
	for _, sample := range m.Samples {
		if sample.Name != name {
			continue
		}
		for label, value := range labels {
			if sample.Labels[label] != value {
				continue next
			}
		}
		sum += sample.Value
	}
	return sum
}

func metricsOf(text, samples string, err error) (*Metrics, error) {
	if err != nil {
		return nil, err
	}
	out := &Metrics{Text: text}
	return out, json.Unmarshal([]byte(samples), &out.Samples)
}

// Metrics reads what the store holds, and what this process has counted of its inbox and its leases. What
// the database has not told by the limit (0: the option health.timeout_ms) is left out.
func (s *Store) Metrics(ctx context.Context, limit time.Duration) (*Metrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return metricsOf(s.metrics(HealthOptions{Limit: limit}.limitMS(ctx)))
}

// Metrics reads what the worker has done, in its present run, and what its stores hold.
func (w *Worker) Metrics(ctx context.Context, limit time.Duration) (*Metrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	core, err := w.current()
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return metricsOf(core.metrics(HealthOptions{Limit: limit}.limitMS(ctx)))
}
