// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// RunStatus is where a run stands.
type RunStatus int

// The states of a run.
const (
	RunNone      RunStatus = C.WP_RUN_NONE      // there was none
	RunPending   RunStatus = C.WP_RUN_PENDING   // waiting: for a worker, its next attempt or another run
	RunRunning   RunStatus = C.WP_RUN_RUNNING   // with a worker
	RunSucceeded RunStatus = C.WP_RUN_SUCCEEDED // finished
	RunFailed    RunStatus = C.WP_RUN_FAILED    // given up
	RunTimedOut  RunStatus = C.WP_RUN_TIMED_OUT // given up, as its last attempt took too long
	RunCancelled RunStatus = C.WP_RUN_CANCELLED // by Runs.Cancel
	RunSkipped   RunStatus = C.WP_RUN_SKIPPED   // never run: overlap or misfire
)

func (s RunStatus) String() string {
	names := map[RunStatus]string{RunNone: "none", RunPending: "pending", RunRunning: "running",
		RunSucceeded: "succeeded", RunFailed: "failed", RunTimedOut: "timed out",
		RunCancelled: "cancelled", RunSkipped: "skipped"}
	if name, ok := names[s]; ok {
		return name
	}
	return "unknown"
}

// ---- definitions ----------------------------------------------------------------------------

func (j *Job) check() error {
	made, err := newJob(j)
	if err == nil {
		C.wp_job_free(made)
	}
	return err
}

func newJob(j *Job) (*C.wp_job, error) {
	if j.Payload == nil {
		return nil, failure(ErrArgument, "the payload of job %q is nil", j.Name)
	}
	if !j.At.IsZero() && j.Cron != "" {
		return nil, failure(ErrArgument, "job %q has both a cron expression and an instant", j.Name)
	}
	texts, e := joined(0, named{"name", j.Name}, named{"topic", j.Topic},
		named{"expression", j.Cron}, named{"zone", j.Zone})
	if e != nil {
		return nil, e
	}
	settings := C.wpg_job{
		once:         cBool(!j.At.IsZero()),
		overlap:      C.wp_overlap(j.Overlap),
		misfire:      C.wp_misfire(j.Misfire),
		misfire_ms:   C.int64_t(toMS(j.MisfireAfter)),
		catch_up:     C.int64_t(j.CatchUp),
		timeout_ms:   C.int64_t(toMS(j.Timeout)),
		max_attempts: C.int64_t(j.MaxAttempts),
		base_ms:      C.int64_t(toMS(j.BackoffBase)),
		max_ms:       C.int64_t(toMS(j.BackoffMax)),
	}
	if settings.once != 0 {
		settings.at_us = C.int64_t(toUS(j.At))
	}
	var (
		out *C.wp_job
		err *C.wp_error
	)
	status := C.wpg_job_new(&out, bytesOf(texts), bytesOf(j.Payload), C.size_t(len(j.Payload)),
		&settings, &err)
	return out, failed(status, err)
}

func (j Jobs) put(job *Job) error {
	made, e := newJob(job)
	if e != nil {
		return e
	}
	defer C.wp_job_free(made)
	return j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_put(store, made, err)
	})
}

func (j Jobs) putOp(job *Job) (*operation, error) {
	made, e := newJob(job)
	if e != nil {
		return nil, e
	}
	defer C.wp_job_free(made)
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_put_op(out, store, made, err)
	})
}

func (j Jobs) deleteOp(name string) (*operation, error) {
	return j.opByName(name, func(out **C.wp_op, store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_delete_op(out, store, name, err)
	})
}

func (j Jobs) triggerOp(name string) (*operation, error) {
	return j.opByName(name, func(out **C.wp_op, store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_trigger_op(out, store, name, err)
	})
}

func (j Jobs) triggerByOp(name, by string) (op *operation, e error) {
	e = withNameBy("name", name, by, func(name, by *C.char) (e error) {
		op, e = j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
			return C.wp_job_trigger_by_op(out, store, name, by, err)
		})
		return e
	})
	return op, e
}

func (j Jobs) getOp(name string) (*operation, error) {
	return j.opByName(name, func(out **C.wp_op, store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_get_op(out, store, name, err)
	})
}

// job is the result of getOp.
func (o *operation) job() (*JobInfo, error) {
	var (
		out *C.wp_jobs
		err *C.wp_error
	)
	if status := C.wp_op_result_jobs(&out, o.op, &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return &jobsOf(out)[0], nil
}

func (j Jobs) opByName(name string, f func(out **C.wp_op, store *C.wp_store, name *C.char,
	err **C.wp_error) C.wp_status) (*operation, error) {
	if err := checkText("name", name); err != nil {
		return nil, err
	}
	text := newText(name)
	defer text.free()
	return j.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
		return f(out, store, text.ptr, err)
	})
}

func (j Jobs) register(registrar string, jobs []Job) error {
	if err := checkText("registrar", registrar); err != nil {
		return err
	}
	made := make([]*C.wp_job, 0, len(jobs)+1)
	defer func() {
		for _, one := range made {
			C.wp_job_free(one)
		}
	}()
	for i := range jobs {
		one, err := newJob(&jobs[i])
		if err != nil {
			return err
		}
		made = append(made, one)
	}
	name := newText(registrar)
	defer name.free()
	return j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_register(store, name.ptr, unsafe.SliceData(made), C.size_t(len(made)), err)
	})
}

// ---- jobs in a store ------------------------------------------------------------------------

// byName calls C with the store and a name.
func (s *Store) byName(name string, f func(store *C.wp_store, name *C.char,
	err **C.wp_error) C.wp_status) error {
	if err := checkText("name", name); err != nil {
		return err
	}
	text := newText(name)
	defer text.free()
	return s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status { return f(store, text.ptr, err) })
}

func (j Jobs) delete(name string) (bool, error) {
	var deleted C.int
	err := j.store.byName(name, func(store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_delete(&deleted, store, name, err)
	})
	return deleted != 0, err
}

func (j Jobs) trigger(name string) (ID, error) {
	var id C.wp_id
	err := j.store.byName(name, func(store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_trigger(&id, store, name, err)
	})
	return idOf(id), err
}

func (j Jobs) triggerBy(name, by string) (ID, error) {
	var id C.wp_id
	e := withNameBy("name", name, by, func(name, by *C.char) error {
		return j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
			return C.wp_job_trigger_by(&id, store, name, by, err)
		})
	})
	return idOf(id), e
}

func (j Jobs) setEnabled(name string, enabled bool, by string) error {
	return withNameBy("name", name, by, func(name, by *C.char) error {
		return j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
			return C.wp_job_set_enabled_by(store, name, cBool(enabled), by, err)
		})
	})
}

func (j Jobs) scheduleDue() (int, error) {
	return j.store.counted(func(made *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_schedule_due(made, store, err)
	})
}

func (j Jobs) get(name string) (*JobInfo, error) {
	var jobs *C.wp_jobs
	e := j.store.byName(name, func(store *C.wp_store, name *C.char, err **C.wp_error) C.wp_status {
		return C.wp_job_get(&jobs, store, name, err)
	})
	if e != nil {
		return nil, e
	}
	return &jobsOf(jobs)[0], nil
}

func (j Jobs) list(after string, limit int) ([]JobInfo, error) {
	if err := checkText("after", after); err != nil {
		return nil, err
	}
	name := optionalText(after)
	defer name.free()
	var jobs *C.wp_jobs
	e := j.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_list(&jobs, store, name.ptr, C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	return jobsOf(jobs), nil
}

// jobsOf copies a list and frees it.
func jobsOf(jobs *C.wp_jobs) []JobInfo {
	defer C.wp_jobs_free(jobs)
	out := make([]JobInfo, int(C.wp_jobs_count(jobs)))
	for i := range out {
		info := C.wp_jobs_at(jobs, C.size_t(i))
		out[i] = JobInfo{
			Name:         C.GoString(C.wp_job_info_name(info)),
			Topic:        C.GoString(C.wp_job_info_topic(info)),
			Payload:      []byte(C.GoString(C.wp_job_info_payload(info))),
			Expression:   C.GoString(C.wp_job_info_expression(info)),
			Zone:         C.GoString(C.wp_job_info_zone(info)),
			Registrar:    C.GoString(C.wp_job_info_registrar(info)),
			Enabled:      C.wp_job_info_enabled(info) != 0,
			Vanished:     C.wp_job_info_vanished(info) != 0,
			NextDue:      fromOptionalUS(int64(C.wp_job_info_next_due_us(info))),
			Overlap:      Overlap(C.wp_job_info_overlap(info)),
			Misfire:      Misfire(C.wp_job_info_misfire(info)),
			MisfireAfter: time.Duration(C.wp_job_info_misfire_ms(info)) * time.Millisecond,
			CatchUp:      int(C.wp_job_info_catch_up(info)),
			Timeout:      time.Duration(C.wp_job_info_timeout_ms(info)) * time.Millisecond,
			MaxAttempts:  int(C.wp_job_info_max_attempts(info)),
			BackoffBase:  time.Duration(C.wp_job_info_backoff_base_ms(info)) * time.Millisecond,
			BackoffMax:   time.Duration(C.wp_job_info_backoff_max_ms(info)) * time.Millisecond,
			LastDue:      fromOptionalUS(int64(C.wp_job_info_last_due_us(info))),
			LastStarted:  fromOptionalUS(int64(C.wp_job_info_last_started_us(info))),
			LastDuration: time.Duration(C.wp_job_info_last_duration_us(info)) * time.Microsecond,
			LastStatus:   RunStatus(C.wp_job_info_last_status(info)),
		}
	}
	return out
}

// ---- runs -----------------------------------------------------------------------------------

func freeRuns(runs unsafe.Pointer) { C.wp_job_runs_free((*C.wp_job_runs)(runs)) }

func runsOf(runs *C.wp_job_runs) []Run {
	out := make([]Run, int(C.wp_job_runs_count(runs)))
	for i := range out {
		run := C.wp_job_runs_at(runs, C.size_t(i))
		out[i] = Run{
			ID:        idOf(*C.wp_job_run_id(run)),
			Job:       C.GoString(C.wp_job_run_name(run)),
			Status:    RunStatus(C.wp_job_run_status(run)),
			Due:       fromUS(int64(C.wp_job_run_due_us(run))),
			Scheduled: C.wp_job_run_is_scheduled(run) != 0,
			Started:   fromOptionalUS(int64(C.wp_job_run_started_us(run))),
			Ended:     fromOptionalUS(int64(C.wp_job_run_ended_us(run))),
			Attempt:   int64(C.wp_job_run_attempt(run)),
			Output:    C.GoString(C.wp_job_run_output(run)),
			Error:     C.GoString(C.wp_job_run_error(run)),
		}
	}
	return out
}

func (r Runs) run(id ID) (*Run, error) {
	var runs *C.wp_job_runs
	e := r.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_run_get(&runs, store, id.c(), err)
	})
	if e != nil {
		return nil, e
	}
	defer C.wp_job_runs_free(runs)
	return &runsOf(runs)[0], nil
}

func (r Runs) listBefore(job string, page unsafe.Pointer, limit int) (*Page[Run], error) {
	if err := checkText("job", job); err != nil {
		return nil, err
	}
	name := optionalText(job)
	defer name.free()
	var (
		runs *C.wp_job_runs
		last *C.wp_job_run
	)
	if count := C.wp_job_runs_count((*C.wp_job_runs)(page)); count > 0 {
		last = C.wp_job_runs_at((*C.wp_job_runs)(page), count-1)
	}
	e := r.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_run_list(&runs, store, name.ptr, last, C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	return newPage(runsOf(runs), unsafe.Pointer(runs), freeRuns,
		func(page unsafe.Pointer) (*Page[Run], error) { return r.listBefore(job, page, limit) }), nil
}

func (r Runs) cancel(id ID) (bool, error) {
	return r.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_run_cancel(yes, store, id.c(), err)
	})
}

func (r Runs) purgeEnded(olderThan time.Duration) (int, error) {
	return r.store.counted(func(count *C.size_t, store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_job_run_purge(count, store, C.int64_t(toMS(olderThan)), err)
	})
}

func (d *Delivery) setOutput(output string) error {
	ptr, e := d.h.use()
	if e != nil {
		return e
	}
	defer d.h.unuse()
	var err *C.wp_error
	status := C.wp_delivery_set_output((*C.wp_delivery)(ptr), bytesOf([]byte(output)),
		C.size_t(len(output)), &err)
	return failed(status, err)
}
