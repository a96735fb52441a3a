// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// A cron expression in a time zone: when it fires, without a database and without a clock.
/// <c>docs/cron.md</c> has the syntax and the rules. It never changes and is thread-safe; it keeps the
/// zone's rules as they were when it was made.
/// </summary>
public sealed class Schedule : IDisposable
{
    private readonly ScheduleHandle _handle;

    /// <summary>Read an expression.</summary>
    /// <param name="expression">Five fields, six with the second before them, or a macro.</param>
    /// <param name="zone">An IANA zone, such as <c>Europe/Vienna</c>.</param>
    /// <param name="zoneDirectory">Where the zone files are; null: the option's default.</param>
    /// <exception cref="ArgumentException">The expression is malformed (the message names the field and
    /// the position) or never fires, or the zone's name is malformed.</exception>
    /// <exception cref="NotFoundException">There is no such zone.</exception>
    /// <exception cref="ConfigException">The zone files are missing, or this one is corrupt.</exception>
    public Schedule(string expression, string zone = "UTC", string? zoneDirectory = null)
    {
        _handle = ScheduleHandle.New(expression, zone, zoneDirectory);
        (Expression, Zone) = (expression, zone);
    }

    /// <summary>The expression, as it was given.</summary>
    public string Expression { get; }

    /// <summary>The zone's name, as it was given.</summary>
    public string Zone { get; }

    /// <summary>The first occurrence after an instant, in UTC, always later than it; null: there is none
    /// by the end of the year 9999.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The instant is before 1970.</exception>
    public DateTimeOffset? Next(DateTimeOffset after) =>
        _handle.NextUs(Times.ToUs(after)) is { } us ? Times.FromUs(us) : null;

    /// <summary>The next occurrences after an instant, in UTC and in order: up to
    /// <paramref name="count"/>, 10,000 at most; fewer where the year 9999 ends.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The instant is before 1970, or the count is not in
    /// its range.</exception>
    public IReadOnlyList<DateTimeOffset> Preview(int count, DateTimeOffset after) =>
        Array.ConvertAll(_handle.PreviewUs(Times.ToUs(after), count), Times.FromUs);

    /// <summary>Free it.</summary>
    public void Dispose() => _handle.Dispose();

    /// <summary>The expression and the zone.</summary>
    public override string ToString() => $"{Expression} in {Zone}";
}
