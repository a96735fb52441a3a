// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;
using System.Globalization;

namespace ScheduleCronos;

/// <summary>
/// A zone of .NET's, and when its clock is changed by the same file, as the library reads it; zones.py
/// compares that with Python's.
/// </summary>
internal sealed class Zone
{
    private readonly List<(DateTime Begin, TimeSpan Offset)> spans = [];

    private Zone(TimeZoneInfo info, string[] numbers)
    {
        Info = info;
        for (var i = 0; i < numbers.Length; i += 2)
            spans.Add((DateTime.UnixEpoch.AddSeconds(Number(numbers[i])), TimeSpan.FromSeconds(Number(numbers[i + 1]))));
    }

    public TimeZoneInfo Info { get; }

    public static Zone[] All(string program)
    {
        var infos = TimeZoneInfo.GetSystemTimeZones().OrderBy(info => info.Id, StringComparer.Ordinal).ToArray();
        var start = new ProcessStartInfo(program, ["/usr/share/zoneinfo", "0", "4260211200"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        using var process = Process.Start(start)!;
        var lines = process.StandardOutput.ReadToEndAsync();
        foreach (var info in infos)
            process.StandardInput.Write($"{info.Id}\n");
        process.StandardInput.Close();
        var zones = lines.Result.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Zip(infos, (line, info) => new Zone(info, line[(info.Id.Length + 1)..].Split(' '))).ToArray();
        process.WaitForExit();
        return process.ExitCode == 0 && zones.Length == infos.Length
            ? zones
            : throw new InvalidOperationException($"{program} failed");
    }

    public DateTime? ChangeAfter(DateTime at)
    {
        var i = spans.FindIndex(span => span.Begin > at);
        return i < 0 ? null : spans[i].Begin;
    }

    /// <summary>
    /// Whether .NET knows each change of the clock from some days before `from` to some days after `to`, asked
    /// for the offset in UTC, and asked about the local times that do not exist or come twice. It does not
    /// where more than daylight saving time changed, nor where a rule's time of day is below 0 or above 24.
    /// </summary>
    public bool IsKnown(DateTime from, DateTime to)
    {
        for (var i = 1; i < spans.Count; i++)
        {
            var (begin, after) = spans[i];
            var before = spans[i - 1].Offset;
            if (begin < from.AddDays(-8) || begin > to.AddDays(8))
                continue;
            if (Info.GetUtcOffset(begin.AddSeconds(-1)) != before || Info.GetUtcOffset(begin) != after)
                return false;
            var second = TimeSpan.FromSeconds(1);
            var (first, end) = before < after ? (Local(begin, before), Local(begin, after))
                : (Local(begin, after), Local(begin, before));
            bool Is(DateTime local) => before < after ? Info.IsInvalidTime(local) : IsEither(local, before, after);
            // The name and the base alone changed: no gap, and no overlap.
            if (before == after && new[] { -1800, -1, 1, 1800 }.Select(n => first + n * second)
                .Any(local => Info.IsInvalidTime(local) || Info.IsAmbiguousTime(local)))
                return false;
            if (before != after
                && (Is(first - second) || !Is(first + second) || !Is(end - second) || Is(end + second)))
                return false;
            // What .NET says of a time that comes twice is its standard time, and Cronos takes that for the
            // later one. In Ireland it is the earlier: the saving time is in winter.
            if (before > after && Info.GetUtcOffset(first + second) != after)
                return false;
        }
        return true;
    }

    private bool IsEither(DateTime local, TimeSpan a, TimeSpan b) => Info.IsAmbiguousTime(local)
        && Info.GetAmbiguousTimeOffsets(local) is var offsets && offsets.Contains(a) && offsets.Contains(b);

    private static DateTime Local(DateTime utc, TimeSpan offset) =>
        DateTime.SpecifyKind(utc + offset, DateTimeKind.Unspecified);

    private static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);
}
