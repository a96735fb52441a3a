// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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

// Vars are the metrics for package expvar, by name and labels:
//
//	expvar.Publish("waypost", expvar.Func(worker.Vars))
//
// What cannot be read is left out.
func (w *Worker) Vars() any { return varsOf(w.Metrics(context.Background(), 0)) }

// Vars are those of the store alone: see Worker.Vars.
func (s *Store) Vars() any { return varsOf(s.Metrics(context.Background(), 0)) }

func varsOf(metrics *Metrics, err error) map[string]float64 {
	vars := map[string]float64{}
	if err != nil {
		return vars
	}
	for _, sample := range metrics.Samples {
		labels := make([]string, 0, len(sample.Labels))
		for label, value := range sample.Labels {
			labels = append(labels, label+"="+strconv.Quote(value))
		}
		slices.Sort(labels)
		name := sample.Name
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		vars[name] = sample.Value
	}
	return vars
}
