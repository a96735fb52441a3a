// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>
/// Timers, which are messages that are due at an instant; and jobs, recurring ones and one-time ones, with
/// the history of their runs. Workers with handlers for them do the rest. Thread-safe. What time it is, the
/// database says. Transactions are as <see cref="IOutbox"/> has them.
/// </summary>
public interface ISchedulerClient
{
    // ---- timers -------------------------------------------------------------------------------

    /// <summary>Schedule a timer; gives its id. It fires at that instant or later, never before; one in the
    /// past fires at once.</summary>
    /// <param name="topic">Of its handler.</param>
    /// <param name="payload">Any text.</param>
    /// <param name="dueTime">1970 to 9999.</param>
    /// <param name="transaction">The app's.</param>
    /// <param name="correlationId">Passed on to the handler; timers are found by it.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    Task<Guid> ScheduleTimerAsync(
        string topic, string payload, DateTimeOffset dueTime, DbTransaction? transaction = null,
        string? correlationId = null, CancellationToken cancellationToken = default);

    /// <summary>Schedule a timer with all that a message can have; without a due time it is due at
    /// once.</summary>
    Task<EnqueueResult> ScheduleTimerAsync(
        NewOutboxMessage timer, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Schedule up to 10,000 timers, all or none.</summary>
    Task<IReadOnlyList<EnqueueResult>> ScheduleTimersAsync(
        IEnumerable<NewOutboxMessage> timers, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Cancel a timer that was never claimed: it will not fire. False: there is none, or a worker
    /// has or had it; then nothing is changed.</summary>
    Task<bool> CancelTimerAsync(
        Guid timerId, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>Give a timer that was never claimed another due time. False: as above.</summary>
    Task<bool> RescheduleTimerAsync(
        Guid timerId, DateTimeOffset dueTime, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>The same with a time from the database's now on; zero and less: now.</summary>
    Task<bool> RescheduleTimerAsync(
        Guid timerId, TimeSpan delay, CancellationToken cancellationToken = default);

    /// <summary>The same in the app's transaction.</summary>
    Task<bool> RescheduleTimerAsync(
        Guid timerId, TimeSpan delay, DbTransaction transaction,
        CancellationToken cancellationToken = default);

    /// <summary>Look a timer up; null if there is none.</summary>
    Task<OutboxMessageInfo?> FindTimerAsync(Guid timerId, CancellationToken cancellationToken = default);

    /// <summary>Look a timer up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<OutboxMessageInfo> GetTimerAsync(Guid timerId, CancellationToken cancellationToken = default);

    /// <summary>List timers in the order in which they were scheduled.</summary>
    /// <param name="correlationId">Those that have it, finished ones too; null: all that are
    /// unfinished.</param>
    /// <param name="after">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<OutboxMessageInfo>> ListTimersAsync(
        string? correlationId = null, Page<OutboxMessageInfo>? after = null, int limit = 100,
        CancellationToken cancellationToken = default);

    /// <summary>Claim timers and finish them by hand; their statistics and dead letters.</summary>
    IWorkQueue<OutboxMessage> Timers { get; }

    // ---- jobs ---------------------------------------------------------------------------------

    /// <summary>Create a job that runs by a cron expression, or update the one of its name. If its schedule
    /// changed it next fires at the first occurrence after now; one that an operator disabled stays
    /// so.</summary>
    /// <exception cref="ArgumentException">The expression is malformed; the message says where.</exception>
    /// <exception cref="NotFoundException">There is no such zone.</exception>
    Task CreateOrUpdateJobAsync(
        string jobName, string topic, string cronSchedule, string payload = "", string? timeZone = null,
        CancellationToken cancellationToken = default);

    /// <summary>Create a job with all that one can have, or update the one of its name.</summary>
    Task CreateOrUpdateJobAsync(JobDefinition job, CancellationToken cancellationToken = default);

    /// <summary>The same in the app's transaction: the job is there with its commit.</summary>
    Task CreateOrUpdateJobAsync(
        JobDefinition job, DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>Create a job that runs once. Its name can be used again when it has ended.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The instant is in the past.</exception>
    /// <exception cref="InvalidOperationException">There is a job of that name that has not
    /// ended.</exception>
    Task ScheduleOnceAsync(
        string jobName, DateTimeOffset runAt, string topic, string payload = "",
        CancellationToken cancellationToken = default);

    /// <summary>Store the jobs of one program's code: new ones are made, changed ones updated, and those that
    /// it had and has no more are switched off, until they come again. One-time jobs and those that were
    /// created by hand stay as they are. A host does so at its start for what is
    /// <see cref="RecurringAttribute"/>.</summary>
    /// <param name="registrar">Names the program.</param>
    /// <param name="jobs">All of them.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task RegisterJobsAsync(
        string registrar, IEnumerable<JobDefinition> jobs, CancellationToken cancellationToken = default);

    /// <summary>Delete a job and its pending runs; false: there is none. A running run finishes; history
    /// stays.</summary>
    Task<bool> DeleteJobAsync(string jobName, CancellationToken cancellationToken = default);

    /// <summary>The same in the app's transaction.</summary>
    Task<bool> DeleteJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>Make one run now, also of a disabled job; gives its id.</summary>
    /// <exception cref="NotFoundException">There is no such job.</exception>
    Task<Guid> TriggerJobAsync(string jobName, CancellationToken cancellationToken = default);

    /// <summary>The same in the app's transaction: the run is there with its commit.</summary>
    Task<Guid> TriggerJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>Make one run now, and note in the audit who did it.</summary>
    /// <param name="jobName">Its name.</param>
    /// <param name="by">Who, up to 255 characters.</param>
    /// <param name="transaction">The app's: run and note are there with its commit. Null: one of its own.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    /// <exception cref="NotFoundException">There is no such job.</exception>
    Task<Guid> TriggerJobAsync(
        string jobName, string by, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Give a job no more runs by its schedule, whatever is registered or created, until it is
    /// enabled again; or enable it: it goes on with the first occurrence after now.</summary>
    /// <param name="jobName">Its name.</param>
    /// <param name="enabled">Whether it is to have runs.</param>
    /// <param name="by">Who says so, up to 255 characters: noted in the audit. Null: nobody is named there.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    /// <exception cref="NotFoundException">There is no such job.</exception>
    Task SetJobEnabledAsync(
        string jobName, bool enabled, string? by = null, CancellationToken cancellationToken = default);

    /// <summary>Make the runs of jobs that are due, as workers do; gives how many.</summary>
    Task<long> ScheduleDueJobsAsync(CancellationToken cancellationToken = default);

    /// <summary>Look a job up; null if there is none.</summary>
    Task<JobInfo?> FindJobAsync(string jobName, CancellationToken cancellationToken = default);

    /// <summary>Look a job up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<JobInfo> GetJobAsync(string jobName, CancellationToken cancellationToken = default);

    /// <summary>The same as the app's transaction sees it.</summary>
    /// <exception cref="NotFoundException">It is not there.</exception>
    Task<JobInfo> GetJobAsync(
        string jobName, DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>List jobs by name, in byte order.</summary>
    /// <param name="after">The last name of the page before; null: from the first on.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<IReadOnlyList<JobInfo>> ListJobsAsync(
        string? after = null, int limit = 100, CancellationToken cancellationToken = default);

    // ---- runs ---------------------------------------------------------------------------------

    /// <summary>Look a run up; null if there is none.</summary>
    Task<JobRun?> FindJobRunAsync(Guid runId, CancellationToken cancellationToken = default);

    /// <summary>Look a run up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<JobRun> GetJobRunAsync(Guid runId, CancellationToken cancellationToken = default);

    /// <summary>List runs, the latest first.</summary>
    /// <param name="jobName">Of a job, which may be gone; null: of all.</param>
    /// <param name="before">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<JobRun>> ListJobRunsAsync(
        string? jobName = null, Page<JobRun>? before = null, int limit = 100,
        CancellationToken cancellationToken = default);

    /// <summary>Cancel a run. One that waits ends at once as cancelled. The handler of one that runs is told
    /// to stop; if it then fails, the run is not tried again. False: it has ended, or there is none.</summary>
    Task<bool> CancelJobRunAsync(Guid runId, CancellationToken cancellationToken = default);

    /// <summary>Delete runs that ended this long ago or earlier; gives how many.</summary>
    Task<long> PurgeJobRunsAsync(TimeSpan olderThan, CancellationToken cancellationToken = default);

    /// <summary>Claim runs and finish them by hand; their statistics and dead letters.</summary>
    IWorkQueue<OutboxMessage> JobRuns { get; }
}

/// <summary>Other forms of the scheduler's calls.</summary>
public static class SchedulerExtensions
{
    /// <summary>Claim due timers, and give their ids alone.</summary>
    public static Task<IReadOnlyList<Guid>> ClaimTimersAsync(
        this ISchedulerClient scheduler, Guid ownerToken, int leaseSeconds, int batchSize,
        CancellationToken cancellationToken = default) =>
        TimersOf(scheduler).ClaimAsync(ownerToken, leaseSeconds, batchSize, cancellationToken);

    /// <summary>Finish timers as done; gives how many changed.</summary>
    public static Task<long> AckTimersAsync(
        this ISchedulerClient scheduler, Guid ownerToken, IEnumerable<Guid> ids,
        CancellationToken cancellationToken = default) =>
        TimersOf(scheduler).AckAsync(ownerToken, ids, cancellationToken);

    /// <summary>Give timers back after a failed attempt.</summary>
    public static Task<long> AbandonTimersAsync(
        this ISchedulerClient scheduler, Guid ownerToken, IEnumerable<Guid> ids,
        CancellationToken cancellationToken = default) =>
        TimersOf(scheduler).AbandonAsync(ownerToken, ids, null, null, cancellationToken);

    /// <summary>Recover timers whose lease is over.</summary>
    public static Task<long> ReapExpiredTimersAsync(
        this ISchedulerClient scheduler, CancellationToken cancellationToken = default) =>
        TimersOf(scheduler).ReapExpiredAsync(cancellationToken);

    /// <summary>Claim due runs of jobs, and give their ids alone.</summary>
    public static Task<IReadOnlyList<Guid>> ClaimJobRunsAsync(
        this ISchedulerClient scheduler, Guid ownerToken, int leaseSeconds, int batchSize,
        CancellationToken cancellationToken = default) =>
        RunsOf(scheduler).ClaimAsync(ownerToken, leaseSeconds, batchSize, cancellationToken);

    /// <summary>Finish runs as done; gives how many changed.</summary>
    public static Task<long> AckJobRunsAsync(
        this ISchedulerClient scheduler, Guid ownerToken, IEnumerable<Guid> ids,
        CancellationToken cancellationToken = default) =>
        RunsOf(scheduler).AckAsync(ownerToken, ids, cancellationToken);

    /// <summary>Give runs back after a failed attempt.</summary>
    public static Task<long> AbandonJobRunsAsync(
        this ISchedulerClient scheduler, Guid ownerToken, IEnumerable<Guid> ids,
        CancellationToken cancellationToken = default) =>
        RunsOf(scheduler).AbandonAsync(ownerToken, ids, null, null, cancellationToken);

    /// <summary>Recover runs whose lease is over.</summary>
    public static Task<long> ReapExpiredJobRunsAsync(
        this ISchedulerClient scheduler, CancellationToken cancellationToken = default) =>
        RunsOf(scheduler).ReapExpiredAsync(cancellationToken);

    private static IWorkQueue<OutboxMessage> TimersOf(ISchedulerClient scheduler)
    {
        ArgumentNullException.ThrowIfNull(scheduler);
        return scheduler.Timers;
    }

    private static IWorkQueue<OutboxMessage> RunsOf(ISchedulerClient scheduler)
    {
        ArgumentNullException.ThrowIfNull(scheduler);
        return scheduler.JobRuns;
    }
}
