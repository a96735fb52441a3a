// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

/// <summary>The base is the queue of timers.</summary>
internal sealed class SchedulerClient(StoreHandle store, string engine)
    : WorkQueue<OutboxMessage>(store, engine, wp_source.WP_SOURCE_TIMER), ISchedulerClient
{
    // ---- timers -----------------------------------------------------------------------------

    public IWorkQueue<OutboxMessage> Timers => this;

    public async Task<Guid> ScheduleTimerAsync(
        string topic, string payload, DateTimeOffset dueTime, DbTransaction? transaction,
        string? correlationId, CancellationToken cancellationToken)
    {
        var timer = new NewOutboxMessage(topic, payload)
        {
            CorrelationId = correlationId,
            DueTimeUtc = dueTime,
        };
        return (await ScheduleTimerAsync(timer, transaction, cancellationToken).ConfigureAwait(false)).Id;
    }

    public async Task<EnqueueResult> ScheduleTimerAsync(
        NewOutboxMessage timer, DbTransaction? transaction, CancellationToken cancellationToken) =>
        (await ScheduleTimersAsync([timer], transaction, cancellationToken).ConfigureAwait(false))[0];

    public async Task<IReadOnlyList<EnqueueResult>> ScheduleTimersAsync(
        IEnumerable<NewOutboxMessage> timers, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        await Tracing.SendAsync<NewOutboxMessage, IReadOnlyList<EnqueueResult>>(
            WaypostQueue.Timer, timers, timer => timer, async timers => transaction is null
                ? await Own(() => Store.TimerSchedule(timers), cancellationToken).ConfigureAwait(false)
                : await OnApps(transaction, () => Store.TimerScheduleOperation(timers), op => op.Results(),
                               cancellationToken).ConfigureAwait(false)).ConfigureAwait(false);

    public Task<bool> CancelTimerAsync(
        Guid timerId, DbTransaction? transaction, CancellationToken cancellationToken) =>
        transaction is null
            ? Own(() => Store.TimerCancel(timerId), cancellationToken)
            : OnApps(transaction, () => Store.TimerCancelOperation(timerId), op => op.ResultCount > 0,
                     cancellationToken);

    public Task<bool> RescheduleTimerAsync(
        Guid timerId, DateTimeOffset dueTime, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Own(() => Store.TimerReschedule(timerId, dueTime), cancellationToken)
            : OnApps(transaction, () => Store.TimerRescheduleOperation(timerId, dueTime),
                     op => op.ResultCount > 0, cancellationToken);

    public Task<bool> RescheduleTimerAsync(
        Guid timerId, TimeSpan delay, CancellationToken cancellationToken) =>
        Own(() => Store.TimerRescheduleIn(timerId, delay), cancellationToken);

    public Task<bool> RescheduleTimerAsync(
        Guid timerId, TimeSpan delay, DbTransaction transaction, CancellationToken cancellationToken) =>
        OnApps(transaction, () => Store.TimerRescheduleInOperation(timerId, delay),
               op => op.ResultCount > 0, cancellationToken);

    public Task<OutboxMessageInfo?> FindTimerAsync(Guid timerId, CancellationToken cancellationToken) =>
        FindAsync(timerId, cancellationToken);

    public Task<OutboxMessageInfo> GetTimerAsync(Guid timerId, CancellationToken cancellationToken) =>
        GetAsync(timerId, cancellationToken);

    public Task<Page<OutboxMessageInfo>> ListTimersAsync(
        string? correlationId, Page<OutboxMessageInfo>? after, int limit,
        CancellationToken cancellationToken) =>
        Own(() => Page<OutboxMessageInfo>.Read<TimersHandle>(
                after, place => Store.TimerList(correlationId, place, limit), timers => timers.Infos()),
            cancellationToken);

    // ---- jobs -------------------------------------------------------------------------------

    public Task CreateOrUpdateJobAsync(
        string jobName, string topic, string cronSchedule, string payload, string? timeZone,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(cronSchedule);
        return CreateOrUpdateJobAsync(
            new JobDefinition(jobName, topic, payload) { Cron = cronSchedule, TimeZone = timeZone },
            cancellationToken);
    }

    public Task CreateOrUpdateJobAsync(JobDefinition job, CancellationToken cancellationToken) =>
        Task.Run(() => Store.JobPut(job), cancellationToken);

    public Task CreateOrUpdateJobAsync(
        JobDefinition job, DbTransaction transaction, CancellationToken cancellationToken) =>
        OnApps(transaction, () => Store.JobPutOperation(job), _ => true, cancellationToken);

    public Task ScheduleOnceAsync(
        string jobName, DateTimeOffset runAt, string topic, string payload,
        CancellationToken cancellationToken) =>
        CreateOrUpdateJobAsync(
            new JobDefinition(jobName, topic, payload) { RunAtUtc = runAt }, cancellationToken);

    public Task RegisterJobsAsync(
        string registrar, IEnumerable<JobDefinition> jobs, CancellationToken cancellationToken) =>
        Task.Run(() => Store.JobRegister(registrar, jobs), cancellationToken);

    public Task<bool> DeleteJobAsync(string jobName, CancellationToken cancellationToken) =>
        Own(() => Store.JobDelete(jobName), cancellationToken);

    public Task<bool> DeleteJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken) =>
        OnApps(transaction, () => Store.JobDeleteOperation(jobName), op => op.ResultCount > 0,
               cancellationToken);

    public Task<Guid> TriggerJobAsync(string jobName, CancellationToken cancellationToken) =>
        Own(() => Store.JobTrigger(jobName, by: null), cancellationToken);

    public Task<Guid> TriggerJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken) =>
        OnApps(transaction, () => Store.JobTriggerOperation(jobName, by: null), op => op.Results()[0].Id,
               cancellationToken);

    public Task<Guid> TriggerJobAsync(
        string jobName, string by, DbTransaction? transaction, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(by);
        return transaction is null
            ? Own(() => Store.JobTrigger(jobName, by), cancellationToken)
            : OnApps(transaction, () => Store.JobTriggerOperation(jobName, by), op => op.Results()[0].Id,
                     cancellationToken);
    }

    public Task SetJobEnabledAsync(
        string jobName, bool enabled, string? by, CancellationToken cancellationToken) =>
        Task.Run(() => Store.JobSetEnabled(jobName, enabled, by), cancellationToken);

    public Task<long> ScheduleDueJobsAsync(CancellationToken cancellationToken) =>
        Own(Store.JobScheduleDue, cancellationToken);

    public Task<JobInfo?> FindJobAsync(string jobName, CancellationToken cancellationToken) =>
        Own(() => Store.JobFind(jobName), cancellationToken);

    public async Task<JobInfo> GetJobAsync(string jobName, CancellationToken cancellationToken) =>
        await FindJobAsync(jobName, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"there is no job {jobName}", default);

    public Task<JobInfo> GetJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken) =>
        OnApps(transaction, () => Store.JobGetOperation(jobName), op => op.ResultJob(), cancellationToken);

    public async Task<IReadOnlyList<JobInfo>> ListJobsAsync(
        string? after, int limit, CancellationToken cancellationToken) =>
        await Own(() => Store.JobList(after, limit), cancellationToken).ConfigureAwait(false);

    // ---- runs -------------------------------------------------------------------------------

    public IWorkQueue<OutboxMessage> JobRuns { get; } =
        new WorkQueue<OutboxMessage>(store, engine, wp_source.WP_SOURCE_JOB);

    public Task<JobRun?> FindJobRunAsync(Guid runId, CancellationToken cancellationToken) =>
        Own(() => Store.JobRunFind(runId), cancellationToken);

    public async Task<JobRun> GetJobRunAsync(Guid runId, CancellationToken cancellationToken) =>
        await FindJobRunAsync(runId, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"there is no run {runId}", default);

    public Task<Page<JobRun>> ListJobRunsAsync(
        string? jobName, Page<JobRun>? before, int limit, CancellationToken cancellationToken) =>
        Own(() => Page<JobRun>.Read<JobRunsHandle>(
                before, place => Store.JobRunList(jobName, place, limit), runs => runs.Runs()),
            cancellationToken);

    public Task<bool> CancelJobRunAsync(Guid runId, CancellationToken cancellationToken) =>
        Own(() => Store.JobRunCancel(runId), cancellationToken);

    public Task<long> PurgeJobRunsAsync(TimeSpan olderThan, CancellationToken cancellationToken) =>
        Own(() => Store.JobRunPurge(olderThan), cancellationToken);
}
