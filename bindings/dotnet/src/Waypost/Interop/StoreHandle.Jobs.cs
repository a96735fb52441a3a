// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class TimersHandle : Handle
{
    /// <summary>Passed as NULL.</summary>
    public static readonly TimersHandle None = new();

    protected override void Free(nint pointer) => Native.wp_timers_free(pointer);

    public OutboxMessageInfo[] Infos()
    {
        var infos = new OutboxMessageInfo[(int)Native.wp_timers_count(this)];
        for (int i = 0; i < infos.Length; i++)
        {
            NativeInfo native;
            Native.wpn_timer_read(&native, this, (nuint)i);
            infos[i] = native.Read();
        }
        return infos;
    }
}

internal sealed unsafe class JobHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_job_free(pointer);

    public static JobHandle New(JobDefinition job)
    {
        ArgumentNullException.ThrowIfNull(job);
        nint error = 0;
        byte[] payload = Utf8.Encode("payload", job.Payload);
        JobHandle handle;
        fixed (byte* name = Utf8.Name("name", job.Name), topic = Utf8.Name("topic", job.Topic), data = payload)
        {
            byte nothing = 0; // an empty payload is not a null one
            Failure.Check(
                Native.wp_job_new(out handle, name, topic, data == null ? &nothing : data,
                                  (nuint)payload.Length, &error), error);
        }
        try
        {
            handle.Fill(job);
            return handle;
        }
        catch
        {
            handle.Dispose();
            throw;
        }
    }

    private void Fill(JobDefinition job)
    {
        nint error = 0;
        if (job.Cron is not null && job.RunAtUtc is not null)
            throw new ArgumentException("Cron and RunAtUtc are both set");
        if (job.Cron is { } cron)
            fixed (byte* e = Utf8.Name("cron", cron), z = Utf8.OptionalName("timeZone", job.TimeZone))
                Failure.Check(Native.wp_job_set_schedule(this, e, z, &error), error);
        if (job.RunAtUtc is { } at)
            Failure.Check(Native.wp_job_set_once_us(this, Times.ToUs(at), &error), error);
        Failure.Check(Native.wp_job_set_overlap(this, (wp_overlap)job.Overlap, &error), error);
        Failure.Check(
            Native.wp_job_set_misfire(this, (wp_misfire)job.Misfire, Times.ToMs(job.MisfireThreshold),
                                      job.CatchUp, &error), error);
        Failure.Check(Native.wp_job_set_timeout_ms(this, Ms(job.Timeout), &error), error);
        Failure.Check(
            Native.wp_job_set_retry(this, job.MaxAttempts ?? 0, Ms(job.BackoffBase), Ms(job.BackoffMax),
                                    &error), error);
    }

    /// <summary>0 stands for the worker's.</summary>
    private static long Ms(TimeSpan? time) => time is null ? 0 : Times.ToMs(time.Value);
}

internal sealed unsafe class JobsHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_jobs_free(pointer);

    public JobInfo[] Infos()
    {
        var infos = new JobInfo[(int)Native.wp_jobs_count(this)];
        for (int i = 0; i < infos.Length; i++)
            infos[i] = Read(Native.wp_jobs_at(this, (nuint)i));
        return infos;
    }

    private static JobInfo Read(nint job)
    {
        JobRunStatus? last = RunStatus(Native.wp_job_info_last_status(job));
        return new JobInfo(
            Utf8.Text(Native.wp_job_info_name(job)),
            Utf8.Text(Native.wp_job_info_topic(job)),
            Utf8.Text(Native.wp_job_info_payload(job)),
            Utf8.OptionalText(Native.wp_job_info_expression(job)),
            Utf8.OptionalText(Native.wp_job_info_zone(job)),
            Utf8.OptionalText(Native.wp_job_info_registrar(job)),
            Native.wp_job_info_enabled(job) != 0,
            Times.FromOptionalUs(Native.wp_job_info_next_due_us(job)),
            last is null ? null : new LastJobRun(
                Times.FromUs(Native.wp_job_info_last_due_us(job)),
                Times.FromUs(Native.wp_job_info_last_started_us(job)),
                TimeSpan.FromMicroseconds(Native.wp_job_info_last_duration_us(job)),
                last.Value))
        {
            HasVanished = Native.wp_job_info_vanished(job) != 0,
            Overlap = (JobOverlap)Native.wp_job_info_overlap(job),
            Misfire = (MisfireStrategy)Native.wp_job_info_misfire(job),
            MisfireThreshold = TimeSpan.FromMilliseconds(Native.wp_job_info_misfire_ms(job)),
            CatchUp = (int)Native.wp_job_info_catch_up(job),
            Timeout = UnlessZero(Native.wp_job_info_timeout_ms(job)),
            MaxAttempts = (int)Native.wp_job_info_max_attempts(job) is > 0 and int most ? most : null,
            BackoffBase = UnlessZero(Native.wp_job_info_backoff_base_ms(job)),
            BackoffMax = UnlessZero(Native.wp_job_info_backoff_max_ms(job)),
        };
    }

    /// <summary>0 is the core's word for the worker's.</summary>
    private static TimeSpan? UnlessZero(long ms) => ms == 0 ? null : TimeSpan.FromMilliseconds(ms);

    public static JobRunStatus? RunStatus(wp_run_status status) =>
        status == wp_run_status.WP_RUN_NONE ? null : (JobRunStatus)status;
}

internal sealed unsafe class JobRunsHandle : Handle
{
    /// <summary>Passed as NULL.</summary>
    public static readonly JobRunsHandle None = new();

    protected override void Free(nint pointer) => Native.wp_job_runs_free(pointer);

    public JobRun[] Runs()
    {
        var runs = new JobRun[(int)Native.wp_job_runs_count(this)];
        for (int i = 0; i < runs.Length; i++)
            runs[i] = Read(Native.wp_job_runs_at(this, (nuint)i));
        return runs;
    }

    private static JobRun Read(nint run) => new(
        *Native.wp_job_run_id(run),
        Utf8.Text(Native.wp_job_run_name(run)),
        (JobRunStatus)Native.wp_job_run_status(run),
        Times.FromUs(Native.wp_job_run_due_us(run)),
        Native.wp_job_run_is_scheduled(run) != 0,
        Times.FromOptionalUs(Native.wp_job_run_started_us(run)),
        Times.FromOptionalUs(Native.wp_job_run_ended_us(run)),
        checked((int)Native.wp_job_run_attempt(run)),
        Utf8.OptionalText(Native.wp_job_run_output(run)),
        Utf8.OptionalText(Native.wp_job_run_error(run)));
}

/// <summary>Timers and jobs.</summary>
internal sealed unsafe partial class StoreHandle
{
    // ---- timers -----------------------------------------------------------------------------

    public EnqueueResult[] TimerSchedule(IEnumerable<NewOutboxMessage> timers)
    {
        using var handles = new MessageHandles(timers);
        int count = handles.Count;
        var ids = new WpId[count];
        var duplicates = new int[count];
        nint error = 0;
        fixed (nint* pointers = handles.Pointers)
        fixed (WpId* id = ids)
        fixed (int* duplicate = duplicates)
            Failure.Check(
                Native.wp_timer_schedule_many(id, duplicate, this, 0, pointers, (nuint)count,
                                              &error), error);
        return EnqueueResults(ids, duplicates);
    }

    public OperationHandle TimerScheduleOperation(IEnumerable<NewOutboxMessage> timers)
    {
        using var handles = new MessageHandles(timers);
        nint error = 0;
        OperationHandle operation;
        fixed (nint* pointers = handles.Pointers)
            Failure.Check(
                Native.wp_timer_schedule_op(out operation, this, pointers, (nuint)handles.Count,
                                            &error), error);
        return operation;
    }

    public bool TimerCancel(Guid timer)
    {
        nint error = 0;
        int cancelled = 0;
        WpId id = timer;
        Failure.Check(Native.wp_timer_cancel(&cancelled, this, 0, &id, &error), error);
        return cancelled != 0;
    }

    public OperationHandle TimerCancelOperation(Guid timer)
    {
        nint error = 0;
        WpId id = timer;
        Failure.Check(Native.wp_timer_cancel_op(out OperationHandle op, this, &id, &error), error);
        return op;
    }

    public bool TimerReschedule(Guid timer, DateTimeOffset due)
    {
        nint error = 0;
        int moved = 0;
        WpId id = timer;
        Failure.Check(
            Native.wp_timer_reschedule(&moved, this, 0, &id, Times.ToUs(due), &error), error);
        return moved != 0;
    }

    public bool TimerRescheduleIn(Guid timer, TimeSpan delay)
    {
        nint error = 0;
        int moved = 0;
        WpId id = timer;
        Failure.Check(
            Native.wp_timer_reschedule_in(&moved, this, 0, &id, Times.ToMs(delay), &error), error);
        return moved != 0;
    }

    public OperationHandle TimerRescheduleOperation(Guid timer, DateTimeOffset due)
    {
        nint error = 0;
        WpId id = timer;
        Failure.Check(
            Native.wp_timer_reschedule_op(out OperationHandle op, this, &id, Times.ToUs(due), &error),
            error);
        return op;
    }

    public OperationHandle TimerRescheduleInOperation(Guid timer, TimeSpan delay)
    {
        nint error = 0;
        WpId id = timer;
        Failure.Check(
            Native.wp_timer_reschedule_in_op(out OperationHandle op, this, &id, Times.ToMs(delay), &error),
            error);
        return op;
    }

    public TimersHandle TimerList(string? correlationId, TimersHandle? after, long limit)
    {
        nint error = 0;
        fixed (byte* correlation = Utf8.OptionalName(nameof(correlationId), correlationId))
        {
            Failure.Check(
                Native.wpn_timer_list(out TimersHandle timers, this, correlation,
                                      after ?? TimersHandle.None, limit, &error), error);
            return timers;
        }
    }

    // ---- jobs -------------------------------------------------------------------------------

    public void JobPut(JobDefinition definition)
    {
        nint error = 0;
        using JobHandle job = JobHandle.New(definition);
        Failure.Check(Native.wp_job_put(this, job, &error), error);
    }

    public OperationHandle JobPutOperation(JobDefinition definition)
    {
        nint error = 0;
        using JobHandle job = JobHandle.New(definition);
        Failure.Check(Native.wp_job_put_op(out OperationHandle op, this, job, &error), error);
        return op;
    }

    public OperationHandle JobDeleteOperation(string jobName)
    {
        nint error = 0;
        OperationHandle op;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName))
            Failure.Check(Native.wp_job_delete_op(out op, this, name, &error), error);
        return op;
    }

    public OperationHandle JobTriggerOperation(string jobName, string? by)
    {
        nint error = 0;
        OperationHandle op;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName), who = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                by is null ? Native.wp_job_trigger_op(out op, this, name, &error)
                           : Native.wp_job_trigger_by_op(out op, this, name, who, &error), error);
        return op;
    }

    public OperationHandle JobGetOperation(string jobName)
    {
        nint error = 0;
        OperationHandle op;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName))
            Failure.Check(Native.wp_job_get_op(out op, this, name, &error), error);
        return op;
    }

    public void JobRegister(string registrar, IEnumerable<JobDefinition> jobs)
    {
        ArgumentNullException.ThrowIfNull(jobs);
        var handles = new List<JobHandle>();
        try
        {
            foreach (JobDefinition job in jobs)
                handles.Add(JobHandle.New(job));
            nint error = 0;
            nint[] pointers = [.. handles.Select(handle => handle.Pointer), 0]; // none is not NULL
            fixed (byte* name = Utf8.Name(nameof(registrar), registrar))
            fixed (nint* list = pointers)
                Failure.Check(
                    Native.wp_job_register(this, name, list, (nuint)handles.Count, &error), error);
        }
        finally
        {
            handles.ForEach(handle => handle.Dispose());
        }
    }

    public bool JobDelete(string jobName)
    {
        nint error = 0;
        int deleted = 0;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName))
            Failure.Check(Native.wp_job_delete(&deleted, this, name, &error), error);
        return deleted != 0;
    }

    public Guid JobTrigger(string jobName, string? by)
    {
        nint error = 0;
        WpId run;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName), who = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                by is null ? Native.wp_job_trigger(&run, this, name, &error)
                           : Native.wp_job_trigger_by(&run, this, name, who, &error), error);
        return run;
    }

    public void JobSetEnabled(string jobName, bool enabled, string? by)
    {
        nint error = 0;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName), who = Utf8.OptionalName(nameof(by), by))
            Failure.Check(Native.wp_job_set_enabled_by(this, name, enabled ? 1 : 0, who, &error), error);
    }

    public long JobScheduleDue()
    {
        nint error = 0;
        nuint made = 0;
        Failure.Check(Native.wp_job_schedule_due(&made, this, &error), error);
        return (long)made;
    }

    /// <summary>Null: there is none.</summary>
    public JobInfo? JobFind(string jobName)
    {
        nint error = 0;
        wp_status status;
        JobsHandle jobs;
        fixed (byte* name = Utf8.Name(nameof(jobName), jobName))
            status = Native.wp_job_get(out jobs, this, name, &error);
        if (IsNotFound(status, error))
            return null;
        using (jobs)
            return jobs.Infos()[0];
    }

    public JobInfo[] JobList(string? after, long limit)
    {
        nint error = 0;
        JobsHandle jobs;
        fixed (byte* name = Utf8.OptionalName(nameof(after), after))
            Failure.Check(Native.wp_job_list(out jobs, this, name, limit, &error), error);
        using (jobs)
            return jobs.Infos();
    }

    // ---- runs -------------------------------------------------------------------------------

    /// <summary>Null: there is none.</summary>
    public JobRun? JobRunFind(Guid run)
    {
        nint error = 0;
        WpId id = run;
        wp_status status = Native.wp_job_run_get(out JobRunsHandle runs, this, &id, &error);
        if (IsNotFound(status, error))
            return null;
        using (runs)
            return runs.Runs()[0];
    }

    public JobRunsHandle JobRunList(string? jobName, JobRunsHandle? before, long limit)
    {
        nint error = 0;
        fixed (byte* name = Utf8.OptionalName(nameof(jobName), jobName))
        {
            Failure.Check(
                Native.wpn_job_run_list(out JobRunsHandle runs, this, name,
                                        before ?? JobRunsHandle.None, limit, &error), error);
            return runs;
        }
    }

    public bool JobRunCancel(Guid run)
    {
        nint error = 0;
        int cancelled = 0;
        WpId id = run;
        Failure.Check(Native.wp_job_run_cancel(&cancelled, this, &id, &error), error);
        return cancelled != 0;
    }

    public long JobRunPurge(TimeSpan olderThan)
    {
        nint error = 0;
        nuint purged = 0;
        Failure.Check(
            Native.wp_job_run_purge(&purged, this, Times.ToMs(olderThan), &error), error);
        return (long)purged;
    }
}
