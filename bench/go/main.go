// SPDX-License-Identifier: Apache-2.0

// Handle COUNT messages that are in the database at URL with handlers that do nothing, and print the
// rate: handlers URL COUNT KIND THREADS. KIND is for other languages; THREADS is GOMAXPROCS, 0: all.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"waypost"
)

const (
	topic = "bench.topic"
	limit = 2 * time.Minute
)

func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func run(url string, count int64) error {
	ctx := context.Background()
	store, err := waypost.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	worker, err := store.Worker(waypost.WithConcurrency(16))
	if err != nil {
		return err
	}
	err = worker.Handle(topic, func(context.Context, *waypost.Delivery) error { return nil })
	if err != nil {
		return err
	}
	started, cpu := time.Now(), processorTime()
	if err := worker.Start(ctx); err != nil {
		return err
	}
	for worker.Counters().Acked < count {
		if time.Since(started) > limit {
			return fmt.Errorf("only %+v within %v", worker.Counters(), limit)
		}
		time.Sleep(2 * time.Millisecond)
	}
	seconds, cpu := time.Since(started).Seconds(), processorTime()-cpu
	fmt.Printf("{\"rate\": %f, \"cpu_seconds\": %f}\n", float64(count)/seconds, cpu.Seconds())
	return worker.Stop(ctx)
}

func main() {
	if len(os.Args) < 5 {
		log.Fatal("usage: handlers URL COUNT KIND THREADS")
	}
	count, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	threads, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	runtime.GOMAXPROCS(threads) // 0 changes nothing
	if err := run(os.Args[1], count); err != nil {
		log.Fatal(err)
	}
}
