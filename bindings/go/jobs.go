// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Job is a definition: a name, a topic with a payload, and when it is to run. Make it with NewJob.
type Job struct {
	Name    string // 1 to 255 UTF-16 code units, compared byte for byte
	Topic   string // of the handler of its runs
	Payload []byte // UTF-8 without NUL

	Cron string    // a cron expression, or a macro such as "@daily", or "@every 90s"
	Zone string    // an IANA zone; "": UTC
	At   time.Time // instead of Cron: it runs once, then

	Overlap      Overlap
	Misfire      Misfire
	MisfireAfter time.Duration // how late an occurrence is missed: 1 minute in NewJob
	CatchUp      int           // with MisfireCatchUp: 1 to 1,000

	Timeout     time.Duration // how long a run may take; 0: as the worker says
	MaxAttempts int           // of a run; 0: as the worker says
	BackoffBase time.Duration // before the first retry, then it doubles; 0: as the worker says
	BackoffMax  time.Duration

	handler []Option
}

// Overlap is what happens to an occurrence while another run of the job is unfinished.
type Overlap int

// The ways to overlap.
const (
	OverlapQueue Overlap = iota // it waits: runs are one at a time, in order
	OverlapSkip                 // it is noted as skipped
	OverlapAllow                // it runs beside the other
)

// Misfire is what happens to occurrences that were missed for longer than MisfireAfter. One-time jobs
// always fire.
type Misfire int

// The ways to deal with missed occurrences.
const (
	MisfireFire    Misfire = iota // one run for all of them, at once, for the latest
	MisfireSkip                   // none; the latest is noted as skipped
	MisfireCatchUp                // a run for each, but only of the latest CatchUp
)

// JobOption is a part of a job's definition.
type JobOption func(*Job)

// NewJob makes a job. Its topic is its name, unless an option says otherwise.
func NewJob(name string, options ...JobOption) Job {
	job := Job{Name: name, Topic: name, Payload: []byte{}, MisfireAfter: time.Minute}
	for _, option := range options {
		option(&job)
	}
	return job
}

// Cron runs a job by a cron expression: docs/cron.md. The option job.cron_overrides of a store replaces
// it by the job's name.
func Cron(expression string) JobOption { return func(j *Job) { j.Cron = expression } }

// Every runs a job again and again after an interval of whole seconds.
func Every(d time.Duration) JobOption { return Cron("@every " + d.String()) }

// Zone is the IANA zone of the cron expression, such as "Europe/Vienna".
func Zone(name string) JobOption { return func(j *Job) { j.Zone = name } }

// At runs a job once. Afterwards its name is free again.
func At(instant time.Time) JobOption { return func(j *Job) { j.At = instant } }

// Topic is the topic of the handler of a job's runs.
func Topic(topic string) JobOption { return func(j *Job) { j.Topic = topic } }

// Payload is what each run gets.
func Payload[P ~string | ~[]byte](payload P) JobOption {
	return func(j *Job) { j.Payload = []byte(payload) }
}

// WhenOverlapping says what happens to an occurrence while another run is unfinished.
func WhenOverlapping(overlap Overlap) JobOption { return func(j *Job) { j.Overlap = overlap } }

// WhenMissed says what happens to occurrences that were missed for longer than a threshold. For MisfireCatchUp,
// which needs a number, there is CatchUp.
func WhenMissed(misfire Misfire, threshold time.Duration) JobOption {
	return func(j *Job) { j.Misfire, j.MisfireAfter = misfire, threshold }
}

// CatchUp has each of the latest n missed occurrences get its run.
func CatchUp(n int, threshold time.Duration) JobOption {
	return func(j *Job) { j.Misfire, j.CatchUp, j.MisfireAfter = MisfireCatchUp, n, threshold }
}

// RunTimeout is how long a run may take; then its handler's context is cancelled, and it has failed.
func RunTimeout(d time.Duration) JobOption { return func(j *Job) { j.Timeout = d } }

// Retries says how often a run is attempted, and the delays between.
func Retries(maxAttempts int, base, most time.Duration) JobOption {
	return func(j *Job) { j.MaxAttempts, j.BackoffBase, j.BackoffMax = maxAttempts, base, most }
}

// HandlerOptions are options of the handler that Worker.Job registers, as those of Worker.HandleRuns.
func HandlerOptions(options ...Option) JobOption {
	return func(j *Job) { j.handler = append(j.handler, options...) }
}

// ---- jobs in a store ------------------------------------------------------------------------

// Jobs are recurring jobs, by a schedule, and one-time ones. Workers that handle runs (Worker.Job,
// Worker.HandleRuns) also see to it that due jobs get their runs; the database admits one run for each
// job and occurrence.
type Jobs struct{ store *Store }

// Jobs are the store's jobs.
func (s *Store) Jobs() Jobs { return Jobs{s} }

// JobInfo is a job in a store. A snapshot.
type JobInfo struct {
	Name       string
	Topic      string
	Payload    []byte
	Expression string // that is in force; "": a one-time job
	Zone       string
	Registrar  string    // who registered it; "": Put
	Enabled    bool      // no operator disabled it, and its code has it still
	Vanished   bool      // the program that registered it has it no more: it may have no handler
	NextDue    time.Time // zero: never

	// As in Job, with 0 where the worker says. CatchUp is 0 unless with MisfireCatchUp.
	Overlap      Overlap
	Misfire      Misfire
	MisfireAfter time.Duration
	CatchUp      int
	Timeout      time.Duration
	MaxAttempts  int
	BackoffBase  time.Duration
	BackoffMax   time.Duration

	// Of the last run to start; LastStatus is RunNone if none has.
	LastDue      time.Time
	LastStarted  time.Time
	LastDuration time.Duration // 0: not finished
	LastStatus   RunStatus
}

// Put creates a job, or updates the one of its name. If its schedule changed it next fires at the first
// occurrence after now; otherwise what is due stays due. One that an operator disabled stays so.
//
// ErrArgument: there is no schedule, or it is malformed; ErrNotFound: no such zone; ErrRange: the
// instant of a one-time job is in the past; ErrState: it is for one time, and there is a job of that
// name that has not ended.
func (j Jobs) Put(ctx context.Context, job Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.put(&job)
}

// PutIn is Put in the app's transaction.
func (j Jobs) PutIn(ctx context.Context, on Execer, job Job) error {
	return executeOn(ctx, on, func() (*operation, error) { return j.putOp(&job) },
		func(*operation) error { return nil })
}

// Register stores the jobs of one program's code: new ones are made, changed ones updated, and those
// that it had and has no more are switched off, until they come again. One-time jobs, and those that
// were stored by Put, stay as they are. registrar names the program.
func (j Jobs) Register(ctx context.Context, registrar string, jobs ...Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.register(registrar, jobs)
}

// Delete deletes a job and its pending runs, and tells whether there was one. A running run finishes,
// but is not tried again; history stays.
func (j Jobs) Delete(ctx context.Context, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return j.delete(name)
}

// DeleteIn is Delete in the app's transaction.
func (j Jobs) DeleteIn(ctx context.Context, on Execer, name string) (deleted bool, err error) {
	err = executeOn(ctx, on, func() (*operation, error) { return j.deleteOp(name) },
		func(op *operation) error { deleted = op.count() > 0; return nil })
	return deleted, err
}

// Trigger makes one run now, also of a disabled job, and returns its id. ErrNotFound: no such job.
func (j Jobs) Trigger(ctx context.Context, name string) (ID, error) {
	if err := ctx.Err(); err != nil {
		return ID{}, err
	}
	return j.trigger(name)
}

// TriggerIn is Trigger in the app's transaction: the run is there with its commit.
func (j Jobs) TriggerIn(ctx context.Context, on Execer, name string) (run ID, err error) {
	err = executeOn(ctx, on, func() (*operation, error) { return j.triggerOp(name) },
		func(op *operation) (err error) { run, err = op.id(0); return err })
	return run, err
}

// TriggerBy is Trigger, and the audit tells that by, which may be "", did it; in the app's transaction if on
// is not nil.
func (j Jobs) TriggerBy(ctx context.Context, on Execer, name, by string) (run ID, err error) {
	if err := ctx.Err(); err != nil {
		return ID{}, err
	}
	if on == nil {
		return j.triggerBy(name, by)
	}
	err = executeOn(ctx, on, func() (*operation, error) { return j.triggerByOp(name, by) },
		func(op *operation) (err error) { run, err = op.id(0); return err })
	return run, err
}

// Enable lets a job go on that was disabled, with the first occurrence after now; a one-time job whose
// time has passed meanwhile fires at once. by, who says so, is noted in the audit, and may be "".
// ErrNotFound: no such job.
func (j Jobs) Enable(ctx context.Context, name, by string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.setEnabled(name, true, by)
}

// Disable has a job get no more runs by its schedule, whatever is registered or put, until it is
// enabled again. by is as Enable's. ErrNotFound: no such job.
func (j Jobs) Disable(ctx context.Context, name, by string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.setEnabled(name, false, by)
}

// Get looks one job up. ErrNotFound: there is none.
func (j Jobs) Get(ctx context.Context, name string) (*JobInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.get(name)
}

// GetIn is Get in the app's transaction.
func (j Jobs) GetIn(ctx context.Context, on Execer, name string) (info *JobInfo, err error) {
	err = executeOn(ctx, on, func() (*operation, error) { return j.getOp(name) },
		func(op *operation) (err error) { info, err = op.job(); return err })
	return info, err
}

// List lists up to limit jobs by name, in byte order. after is the last name of the page before; "":
// from the first on.
func (j Jobs) List(ctx context.Context, after string, limit int) ([]JobInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.list(after, limit)
}

// ScheduleDue makes the runs of jobs that are due, as workers do, and returns how many.
func (j Jobs) ScheduleDue(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return j.scheduleDue()
}

// ---- runs -----------------------------------------------------------------------------------

// Runs are the runs of jobs, with their history.
type Runs struct{ Queue }

// Runs are the runs of the store's jobs.
func (s *Store) Runs() Runs { return Runs{queueOf(s, JobKind)} }

// Run is a run of a job. A snapshot.
type Run struct {
	ID        ID
	Job       string // the job's name
	Status    RunStatus
	Due       time.Time // the instant that it was scheduled for
	Scheduled bool      // by the schedule, not triggered by hand
	Started   time.Time // when its last attempt was claimed; zero: it was not
	Ended     time.Time // zero: it has not
	Attempt   int64     // how many attempts ended without success
	Output    string    // what its handler gave to Delivery.SetOutput
	Error     string    // the reason of the last failure or of the skip
}

// Get looks one run up. ErrNotFound: there is none.
func (r Runs) Get(ctx context.Context, id ID) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.run(id)
}

// List lists runs in pages of 1 to 10,000, the latest first: those of a job, which may be gone; or, if
// it is "", of all.
func (r Runs) List(ctx context.Context, job string, limit int) (*Page[Run], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.listBefore(job, nil, limit)
}

// Cancel cancels a run. One that waits ends at once. The context of the handler of one that runs is
// cancelled with the cause ErrCancelled, within the worker's reap interval; if it then fails, the run is
// not tried again. It returns false if the run has ended, or there is none.
func (r Runs) Cancel(ctx context.Context, id ID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return r.cancel(id)
}

// PurgeEnded deletes runs that ended this long ago, in batches, and returns how many.
func (r Runs) PurgeEnded(ctx context.Context, olderThan time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return r.purgeEnded(olderThan)
}

// ---- jobs of a worker -----------------------------------------------------------------------

// Job has the worker handle the runs of a job, and define it: when the worker starts, the jobs of all
// Job calls are registered in its store (Jobs.Register), so that those which the code has no more are
// switched off. Workers of one Store and one registrar have their jobs together.
//
//	worker.Job("report", report, waypost.Cron("0 2 * * *"), waypost.Zone("Europe/Berlin"))
//
// The program is known by WithRegistrar. One-time jobs are stored with Jobs.Put. Jobs of which one
// handler serves several: HandleRuns, and Jobs.Register by hand. ErrState: the topic has a handler, or
// the worker is a router's, whose stores come and go: likewise.
func (w *Worker) Job(name string, handler Handler, options ...JobOption) error {
	if w.router != nil {
		return failure(ErrState, "the worker is a router's: register the jobs in each store")
	}
	job := NewJob(name, options...)
	if err := job.check(); err != nil {
		return err
	}
	if job.Cron == "" {
		return failure(ErrArgument, "job %q has no cron expression: one-time jobs are put", name)
	}
	if handler == nil {
		return failure(ErrArgument, "the handler of job %q is nil", name)
	}
	return w.register(&registration{kind: JobKind, topic: job.Topic, handler: handler,
		options: job.handler, manual: &w.manual, job: &job})
}

// registerJobs stores the jobs of the code, once. w.mu is held, but let go of meanwhile: then it returns
// true, and the caller looks again.
func (w *Worker) registerJobs() (bool, error) {
	if w.registered || w.router != nil || len(w.jobs) == 0 && !w.named {
		return false, nil
	}
	jobs := w.jobs
	w.mu.Unlock()
	err := w.store.registered.add(w.store, w.registrar, jobs)
	w.mu.Lock()
	w.registered = err == nil && len(jobs) == len(w.jobs)
	return true, err
}

// registered are the jobs that a store's workers have stored, by registrar and name.
type registered struct {
	mu   sync.Mutex // also while they are stored, or else an older union could be the last one
	jobs map[string]map[string]Job
}

// add stores a worker's jobs together with those of the registrar's other workers.
func (r *registered) add(store *Store, registrar string, jobs []Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.jobs[registrar]
	all := slices.Clone(jobs)
	for name, job := range known {
		if !slices.ContainsFunc(jobs, func(own Job) bool { return own.Name == name }) {
			all = append(all, job)
		}
	}
	if err := store.Jobs().register(registrar, all); err != nil {
		return err
	}
	if known == nil {
		known = map[string]Job{}
		if r.jobs == nil {
			r.jobs = map[string]map[string]Job{}
		}
		r.jobs[registrar] = known
	}
	for _, job := range jobs {
		known[job.Name] = job
	}
	return nil
}

// SetOutput sets what a run of a job returns, before it is finished; the last one counts. It is UTF-8
// without NUL, up to 65,536 bytes, and stored with the outcome, in the run's history. ErrState: it is no
// run, or it is finished; ErrRange: it is too long.
func (d *Delivery) SetOutput(output string) error { return d.setOutput(output) }
