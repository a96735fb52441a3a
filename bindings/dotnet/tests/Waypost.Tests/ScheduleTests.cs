// SPDX-License-Identifier: Apache-2.0
using System.Globalization;

namespace Waypost.Tests;

/// <summary>Schedules: when expressions fire in a zone.</summary>
public sealed class ScheduleTests
{
    private static DateTimeOffset Utc(string text) =>
        DateTimeOffset.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal);

    private static void Comes(string expression, string zone, string after, params string[] want)
    {
        using var schedule = new Schedule(expression, zone);
        var expected = want.Select(Utc).ToArray();
        Assert.Equal(expected, schedule.Preview(expected.Length, Utc(after)));
        Assert.Equal(expected[0], schedule.Next(Utc(after)));
    }

    // scenario: SCH-001
    // proves: JOB-020, CRN-001, CRN-005
    [Fact]
    public void Next_occurrences_in_a_zone()
    {
        Comes("30 9 * * MON-FRI", "Europe/Vienna", "2027-03-26T12:00:00",
              "2027-03-29T07:30:00", "2027-03-30T07:30:00", "2027-03-31T07:30:00");
        using var schedule = new Schedule("30 9 * * MON-FRI", "Europe/Vienna");
        Assert.Equal(Utc("2027-03-29T07:30:00"), schedule.Next(DateTimeOffset.Parse(
            "2027-03-26T13:00:00+01:00", CultureInfo.InvariantCulture)));
        Assert.Equal("30 9 * * MON-FRI in Europe/Vienna", schedule.ToString());
        Assert.Empty(schedule.Preview(0, Utc("2027-03-26T12:00:00")));
        using var daily = new Schedule("@daily");
        Assert.Equal(Utc("2027-03-27T00:00:00"), daily.Next(Utc("2027-03-26T12:00:00")));
    }

    // scenario: SCH-002
    // proves: CRN-006
    [Fact]
    public void Fixed_time_that_is_skipped_or_comes_twice_fires_once()
    {
        Comes("30 2 * * *", "Europe/Vienna", "2027-03-27T12:00:00",
              "2027-03-28T01:00:00", "2027-03-29T00:30:00");
        Comes("30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
              "2027-10-31T00:30:00", "2027-11-01T01:30:00");
    }

    // scenario: SCH-003
    // proves: CRN-006
    [Fact]
    public void Intervals_fire_at_each_real_instant()
    {
        Comes("*/30 * * * *", "Europe/Vienna", "2027-10-30T23:45:00", "2027-10-31T00:00:00",
              "2027-10-31T00:30:00", "2027-10-31T01:00:00", "2027-10-31T01:30:00");
        Comes("0 * * * *", "Europe/Vienna", "2027-03-27T23:30:00",
              "2027-03-28T00:00:00", "2027-03-28T01:00:00", "2027-03-28T02:00:00");
        Comes("@every 90m", "Europe/Vienna", "2027-10-30T22:45:00",
              "2027-10-31T00:00:00", "2027-10-31T01:30:00", "2027-10-31T03:00:00");
    }

    // scenario: SCH-004
    // proves: CRN-003, CRN-004
    [Fact]
    public void Malformed_or_never_is_an_argument_error()
    {
        var malformed = Assert.Throws<ArgumentException>(() => new Schedule("* 24 * * *"));
        Assert.Contains("hour, position 3", malformed.Message, StringComparison.Ordinal);
        var never = Assert.Throws<ArgumentException>(() => new Schedule("0 0 30 2 *"));
        Assert.Contains("never fires", never.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentNullException>(() => new Schedule(null!));
        Assert.Throws<ArgumentNullException>(() => new Schedule("@daily", null!));
        Assert.Throws<ArgumentException>(() => new Schedule("@daily\0"));
        Assert.Throws<ArgumentException>(() => new Schedule("@daily", ""));
    }

    // scenario: SCH-005
    // proves: CRN-005
    [Fact]
    public void Unknown_zones_are_told_apart()
    {
        Assert.Throws<NotFoundException>(() => new Schedule("@daily", "Mars/Phobos"));
        Assert.Throws<ArgumentException>(() => new Schedule("@daily", "../etc/passwd"));
        Assert.Throws<ConfigException>(() => new Schedule("@daily", "Europe/Vienna", "/nowhere"));
        using var utc = new Schedule("@daily", "UTC", "/nowhere");
        Assert.Equal("UTC", utc.Zone);
    }

    // scenario: SCH-006
    [Fact]
    public void Ends_of_time()
    {
        using var schedule = new Schedule("0 0 1 1 *");
        Assert.Throws<ArgumentOutOfRangeException>(() => schedule.Next(Utc("1969-12-31T23:59:59")));
        Assert.Null(schedule.Next(DateTimeOffset.MaxValue));
        Assert.Equal(2, schedule.Preview(5, DateTimeOffset.MaxValue.AddDays(-800)).Count);
        Assert.Throws<ArgumentOutOfRangeException>(() => schedule.Preview(-1, DateTimeOffset.MaxValue));
        Assert.Throws<ArgumentOutOfRangeException>(() => schedule.Preview(10_001, DateTimeOffset.MaxValue));
    }

    [Fact]
    public void Schedule_that_was_disposed_is_refused()
    {
        var schedule = new Schedule("@daily");
        schedule.Dispose();
        Assert.Throws<ObjectDisposedException>(() => schedule.Next(DateTimeOffset.UnixEpoch));
        schedule.Dispose();
    }
}
