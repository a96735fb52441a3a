// SPDX-License-Identifier: Apache-2.0

// Calls of a service that takes no more than 3 at a time, and no more than 30 a second, however many
// processes call it: a slot of a semaphore for each call, kept for a tenth of a second at least. A process
// that dies gives its slots back when they expire.
//
// Runs itself four times, with five goroutines each, and shows when the calls were made.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"waypost"
)

const (
	url        = "sqlite:bounded.db"
	limit      = 3
	keep       = 100 * time.Millisecond // 3 in 0.1 s are 30 a second
	processes  = 4
	goroutines = 5
	calls      = 3 // of each goroutine
)

// ---- one of the processes -------------------------------------------------------------------

func call() { time.Sleep(20 * time.Millisecond) }

// work makes calls, and prints when each one began and when its slot was free again.
func work(ctx context.Context) error {
	store, err := waypost.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	var all sync.WaitGroup
	failures := make([]error, goroutines)
	for i := range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for range calls {
				err := store.Semaphores().Run(ctx, "service", 30*time.Second,
					func(ctx context.Context, slot *waypost.Lease) error {
						begin := time.Now()
						call()
						time.Sleep(time.Until(begin.Add(keep)))
						fmt.Println(begin.UnixMicro(), time.Now().UnixMicro())
						return nil
					})
				failures[i] = errors.Join(failures[i], err)
			}
		}()
	}
	all.Wait()
	return errors.Join(failures...)
}

// ---- what is shown --------------------------------------------------------------------------

type made struct{ begin, end int64 } // microseconds

func start(name string) (*exec.Cmd, io.Reader, error) {
	child := exec.Command(os.Args[0], name)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	return child, out, err
}

func collect(children []*exec.Cmd, outs []io.Reader) (all []made, err error) {
	for i, child := range children {
		for lines := bufio.NewScanner(outs[i]); lines.Scan(); {
			var one made
			if _, e := fmt.Sscan(lines.Text(), &one.begin, &one.end); e != nil {
				err = errors.Join(err, e)
			}
			all = append(all, one)
		}
		err = errors.Join(err, child.Wait())
	}
	slices.SortFunc(all, func(a, b made) int { return int(a.begin - b.begin) })
	return all, err
}

// most is how many of the calls, in the order of their beginnings, were under way at once.
func most(all []made) (count int) {
	for i, one := range all {
		now := 1
		for _, before := range all[:i] {
			if before.end > one.begin {
				now++
			}
		}
		count = max(count, now)
	}
	return count
}

func show(ctx context.Context) error {
	store, err := waypost.Open(ctx, url, waypost.WithDeploy())
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Semaphores().SetLimit(ctx, nil, "service", limit); err != nil {
		return err
	}
	var children []*exec.Cmd
	var outs []io.Reader
	for i := range processes {
		child, out, err := start(fmt.Sprint(i + 1))
		if err != nil {
			return err
		}
		children, outs = append(children, child), append(outs, out)
	}
	all, err := collect(children, outs)
	if err != nil {
		return err
	}
	if want := processes * goroutines * calls; len(all) != want {
		return fmt.Errorf("%d calls of %d were made", len(all), want)
	}
	took := time.Duration(all[len(all)-1].end-all[0].begin) * time.Microsecond
	fmt.Printf("%d calls of %d processes in %.1f s: %.0f a second, at most %d at once\n", len(all), processes,
		took.Seconds(), float64(len(all))/took.Seconds(), most(all))
	if most(all) > limit {
		return fmt.Errorf("more than %d calls at once", limit)
	}
	return nil
}

func main() {
	slog.SetLogLoggerLevel(slog.LevelError)
	run := show
	if len(os.Args) > 1 {
		run = work
	}
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
