// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"expvar"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"waypost"
)

func freePort() int {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// proves: MET-001, HLT-001
func TestMetricsAndHealthByHTTP(t *testing.T) {
	b := newBed(t)
	port := strconv.Itoa(freePort())
	store := b.open(waypost.WithOption("metrics.port", port), waypost.WithOption("health.port", port))
	w := must(store.Worker())
	_ = must(0, w.Handle("t", func(context.Context, delivery) error { return nil }))
	ask := func(path string) (int, string) {
		answer, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
	}
	code, _ := ask("/metrics")
	equal(t, code, 0)
	b.start(w)
	b.enqueue(message("t", "x"))
	until(t, func() bool {
		code, text := ask("/metrics")
		return code == 200 && strings.Contains(text, "worker_processed_total 1\n")
	})
	until(t, func() bool { code, _ := ask("/health"); return code == 200 })
	code, text := ask("/health/live")
	equal(t, code, 200)
	equal(t, text, `{"status":"healthy"}`)
	_ = must(0, w.Stop(ctx))
	code, _ = ask("/metrics")
	equal(t, code, 0)
}

// proves: MET-001
func TestVarsAreAValueOfExpvar(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "t", func(context.Context, delivery) error { return nil })
	b.enqueue(message("t", "x"))
	b.drain(w)
	var vars map[string]float64
	_ = must(0, json.Unmarshal([]byte(expvar.Func(w.Vars).String()), &vars))
	equal(t, vars["worker_processed_total"], 1)
	equal(t, vars[`waypost_acked_total{queue="outbox",store="default",topic="t"}`], 1)
	_ = must(0, json.Unmarshal([]byte(expvar.Func(b.store.Vars).String()), &vars))
	equal(t, vars[`waypost_store_up{store="default"}`], 1)
}
