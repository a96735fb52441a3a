// SPDX-License-Identifier: Apache-2.0
using System.Reflection;
using Waypost.Interop;

namespace Waypost;

/// <summary>What happens to an occurrence while another run of the job is unfinished.</summary>
public enum JobOverlap
{
    /// <summary>It waits: runs are one at a time, in order.</summary>
    Queue = wp_overlap.WP_OVERLAP_QUEUE,
    /// <summary>It is noted as skipped.</summary>
    Skip = wp_overlap.WP_OVERLAP_SKIP,
    /// <summary>It runs beside the other.</summary>
    Allow = wp_overlap.WP_OVERLAP_ALLOW,
}

/// <summary>What happens to occurrences that were missed for longer than the threshold.</summary>
public enum MisfireStrategy
{
    /// <summary>One run for all of them, at once, for the latest.</summary>
    FireImmediately = wp_misfire.WP_MISFIRE_FIRE,
    /// <summary>None; the latest is noted as skipped.</summary>
    SkipAndScheduleNext = wp_misfire.WP_MISFIRE_SKIP,
    /// <summary>A run for each, but only of the latest <c>CatchUp</c>.</summary>
    CatchUp = wp_misfire.WP_MISFIRE_CATCH_UP,
}

/// <summary>Where a run stands.</summary>
public enum JobRunStatus
{
    /// <summary>Waiting: for a worker, its next attempt or another run.</summary>
    Pending = wp_run_status.WP_RUN_PENDING,
    /// <summary>With a worker.</summary>
    Running = wp_run_status.WP_RUN_RUNNING,
    /// <summary>Finished.</summary>
    Succeeded = wp_run_status.WP_RUN_SUCCEEDED,
    /// <summary>Given up.</summary>
    Failed = wp_run_status.WP_RUN_FAILED,
    /// <summary>Given up, as its last attempt took too long.</summary>
    TimedOut = wp_run_status.WP_RUN_TIMED_OUT,
    /// <summary>Cancelled on request.</summary>
    Cancelled = wp_run_status.WP_RUN_CANCELLED,
    /// <summary>Never run: overlap or misfire.</summary>
    Skipped = wp_run_status.WP_RUN_SKIPPED,
}

/// <summary>A job: a name, a topic with a payload, and when it is to run: by a cron expression, or
/// once.</summary>
public sealed class JobDefinition
{
    /// <summary>A job without a schedule yet.</summary>
    /// <param name="name">1 to 255 characters (UTF-16 code units), compared byte for byte.</param>
    /// <param name="topic">Of the handler, likewise.</param>
    /// <param name="payload">Any text.</param>
    public JobDefinition(string name, string topic, string payload = "")
    {
        ArgumentNullException.ThrowIfNull(name);
        ArgumentNullException.ThrowIfNull(topic);
        ArgumentNullException.ThrowIfNull(payload);
        (Name, Topic, Payload) = (name, topic, payload);
    }

    /// <summary>Its name.</summary>
    public string Name { get; }

    /// <summary>The topic of its handler.</summary>
    public string Topic { get; }

    /// <summary>What its runs carry.</summary>
    public string Payload { get; }

    /// <summary>Run by this expression (<c>docs/cron.md</c>) ...</summary>
    public string? Cron { get; init; }

    /// <summary>... in this IANA zone; null: UTC.</summary>
    public string? TimeZone { get; init; }

    /// <summary>Or run once, at this instant.</summary>
    public DateTimeOffset? RunAtUtc { get; init; }

    /// <summary>What happens while another run is unfinished.</summary>
    public JobOverlap Overlap { get; init; } = JobOverlap.Queue;

    /// <summary>What happens to missed occurrences. One-time jobs always fire.</summary>
    public MisfireStrategy Misfire { get; init; } = MisfireStrategy.FireImmediately;

    /// <summary>From which delay on an occurrence counts as missed.</summary>
    public TimeSpan MisfireThreshold { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>With <see cref="MisfireStrategy.CatchUp"/>: how many, 1 to 1,000.</summary>
    public int CatchUp { get; init; } = 1;

    /// <summary>How long a run may take, up to a day; then its handler is told to stop, and the run has
    /// failed. Null: the worker's timeout.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>How often a run is tried; null: as the worker has it.</summary>
    public int? MaxAttempts { get; init; }

    /// <summary>The delay before the first retry, which doubles; null: the worker's.</summary>
    public TimeSpan? BackoffBase { get; init; }

    /// <summary>The longest delay; null: the worker's.</summary>
    public TimeSpan? BackoffMax { get; init; }
}

/// <summary>A job as the store has it.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Topic">Of its handler.</param>
/// <param name="Payload">What its runs carry.</param>
/// <param name="Cron">The expression that is in force; null: a one-time job.</param>
/// <param name="TimeZone">Its zone; null: a one-time job.</param>
/// <param name="Registrar">The program that registered it; null: it was stored by hand.</param>
/// <param name="IsEnabled">False if an operator disabled it, or its code does not have it any more.</param>
/// <param name="NextDueUtc">When it is due next; null: never.</param>
/// <param name="LastRun">Its last run to start; null: none has.</param>
public sealed record JobInfo(
    string Name, string Topic, string Payload, string? Cron, string? TimeZone, string? Registrar,
    bool IsEnabled, DateTimeOffset? NextDueUtc, LastJobRun? LastRun)
{
    /// <summary>Whether the program that registered it has it no more: it may have no handler.</summary>
    public bool HasVanished { get; init; }

    /// <summary>What happens while another run is unfinished.</summary>
    public JobOverlap Overlap { get; init; }

    /// <summary>What happens to missed occurrences.</summary>
    public MisfireStrategy Misfire { get; init; }

    /// <summary>From which delay on an occurrence counts as missed.</summary>
    public TimeSpan MisfireThreshold { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>With <see cref="MisfireStrategy.CatchUp"/>: how many; else 0.</summary>
    public int CatchUp { get; init; }

    /// <summary>How long a run may take; null: the worker's timeout.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>How often a run is tried; null: as the worker has it.</summary>
    public int? MaxAttempts { get; init; }

    /// <summary>The delay before the first retry; null: the worker's.</summary>
    public TimeSpan? BackoffBase { get; init; }

    /// <summary>The longest delay; null: the worker's.</summary>
    public TimeSpan? BackoffMax { get; init; }
}

/// <summary>A job's last run to start.</summary>
/// <param name="DueUtc">The instant that it was scheduled for.</param>
/// <param name="StartedUtc">When it started.</param>
/// <param name="Duration">How long it took; zero: not finished.</param>
/// <param name="Status">Where it stands.</param>
public sealed record LastJobRun(
    DateTimeOffset DueUtc, DateTimeOffset StartedUtc, TimeSpan Duration, JobRunStatus Status);

/// <summary>One run of a job.</summary>
/// <param name="Id">Its id.</param>
/// <param name="JobName">The job's name.</param>
/// <param name="Status">Where it stands.</param>
/// <param name="DueUtc">The instant that it was scheduled for.</param>
/// <param name="IsScheduled">It is of the schedule; else it was triggered by hand.</param>
/// <param name="StartedUtc">When its last attempt was claimed; null: it was not.</param>
/// <param name="EndedUtc">When it ended; null: it has not.</param>
/// <param name="Attempt">How many attempts ended without success.</param>
/// <param name="Output">What its handler returned.</param>
/// <param name="Error">The reason of the last failure or of the skip.</param>
public sealed record JobRun(
    Guid Id, string JobName, JobRunStatus Status, DateTimeOffset DueUtc, bool IsScheduled,
    DateTimeOffset? StartedUtc, DateTimeOffset? EndedUtc, int Attempt, string? Output, string? Error);

/// <summary>Handles the timers of one topic. Made anew in a scope of its own for each one.</summary>
public interface ITimerHandler
{
    /// <summary>The topic; the same for all instances.</summary>
    string Topic { get; }

    /// <summary>Handle a timer that is due, as <see cref="IOutboxHandler.HandleAsync"/> does.</summary>
    Task HandleAsync(OutboxMessage timer, CancellationToken cancellationToken);
}

/// <summary>Handles the runs of the jobs of one topic. Made anew in a scope of its own for each
/// run.</summary>
public interface IJobHandler
{
    /// <summary>The topic; the same for all instances.</summary>
    string Topic { get; }

    /// <summary>Handle a run, as <see cref="IOutboxHandler.HandleAsync"/> does; what it returns is kept in
    /// the run's history. What does not fit into 64 KiB of UTF-8 is cut off, NULs are left out, and a warning is
    /// logged.</summary>
    /// <param name="run">The run; its DueTimeUtc is the occurrence as the schedule has it.</param>
    /// <param name="cancellationToken">Cancelled also when the run is cancelled on request
    /// (<see cref="OutboxDelivery.CancelReason"/> says so); if it fails then, it is not tried again.</param>
    Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken);
}

/// <summary>
/// On a handler class: a recurring job whose runs it handles. On a method of a service: a recurring job
/// that calls it. The jobs of all that is added to <c>AddWaypost()</c> are registered when the host starts:
/// new ones are made, changed ones updated, and those that the program has no more are switched off.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = true, Inherited = false)]
public sealed class RecurringAttribute : Attribute
{
    /// <summary>A job by a cron expression; see <c>docs/cron.md</c>.</summary>
    public RecurringAttribute(string cron)
    {
        ArgumentNullException.ThrowIfNull(cron);
        Cron = cron;
    }

    /// <summary>The expression. The option <c>job.cron_overrides</c> can say otherwise.</summary>
    public string Cron { get; }

    /// <summary>The job's name; null: that of the class, or <c>Class.Method</c>.</summary>
    public string? Name { get; set; }

    /// <summary>An IANA zone, such as <c>Europe/Vienna</c>; null: UTC.</summary>
    public string? TimeZone { get; set; }

    /// <summary>What its runs carry.</summary>
    public string Payload { get; set; } = "";

    /// <summary>What happens while another run is unfinished.</summary>
    public JobOverlap Overlap { get; set; } = JobOverlap.Queue;

    /// <summary>What happens to missed occurrences.</summary>
    public MisfireStrategy Misfire { get; set; } = MisfireStrategy.FireImmediately;

    /// <summary>From which delay on an occurrence counts as missed.</summary>
    public int MisfireThresholdSeconds { get; set; } = 60;

    /// <summary>With <see cref="MisfireStrategy.CatchUp"/>: how many, 1 to 1,000.</summary>
    public int CatchUp { get; set; } = 1;

    /// <summary>How long a run may take; 0: the worker's timeout.</summary>
    public int TimeoutSeconds { get; set; }

    /// <summary>How often a run is tried; 0: as the worker has it.</summary>
    public int MaxAttempts { get; set; }

    /// <summary>The delay before the first retry, which doubles; 0: the worker's.</summary>
    public int BackoffBaseSeconds { get; set; }

    /// <summary>The longest delay; 0: the worker's.</summary>
    public int BackoffMaxSeconds { get; set; }

    /// <summary>What the attributes of a handler class make of its topic.</summary>
    internal static Func<string, JobDefinition>[] JobsOf(Type handler) =>
        handler.GetCustomAttributes<RecurringAttribute>(inherit: false)
            .Select(attribute => (Func<string, JobDefinition>)(topic => attribute.Define(handler.Name, topic)))
            .ToArray();

    internal JobDefinition Define(string name, string topic) => new(Name ?? name, topic, Payload)
    {
        Cron = Cron,
        TimeZone = TimeZone,
        Overlap = Overlap,
        Misfire = Misfire,
        MisfireThreshold = TimeSpan.FromSeconds(MisfireThresholdSeconds),
        CatchUp = CatchUp,
        Timeout = Seconds(TimeoutSeconds),
        MaxAttempts = MaxAttempts == 0 ? null : MaxAttempts,
        BackoffBase = Seconds(BackoffBaseSeconds),
        BackoffMax = Seconds(BackoffMaxSeconds),
    };

    private static TimeSpan? Seconds(int seconds) => seconds == 0 ? null : TimeSpan.FromSeconds(seconds);
}
