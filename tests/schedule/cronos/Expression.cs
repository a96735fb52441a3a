// SPDX-License-Identifier: Apache-2.0
using Cronos;

namespace ScheduleCronos;

/// <summary>An expression, and what it should mean, put together from what Cronos says.</summary>
internal sealed class Expression
{
    private readonly CronExpression[] parts;
    private readonly bool interval;

    private Expression(string[] fields)
    {
        Text = string.Join(' ', fields);
        var time = fields[..^3];
        interval = time.Any(field => field.AsSpan().ContainsAny("*-/"));
        // Both days restricted: in Cronos both must match, here one of them is enough.
        parts = IsRestricted(fields[^3]) && IsRestricted(fields[^1])
            ? [Parse([.. time, fields[^3], fields[^2], "*"]), Parse([.. time, "*", fields[^2], fields[^1]])]
            : [Parse(fields)];
    }

    public string Text { get; }

    public DateTime? Next(DateTime from, TimeZoneInfo zone) => parts.Select(p => Next(p, from, zone)).Min();

    private static bool IsRestricted(string field) => field[0] is not ('*' or '?');

    private static CronExpression Parse(string[] fields) => CronExpression.Parse(string.Join(' ', fields),
        fields.Length == 6 ? CronFormat.IncludeSeconds : CronFormat.Standard);

    private DateTime? Next(CronExpression part, DateTime from, TimeZoneInfo zone)
    {
        var next = part.GetNextOccurrence(from, zone);
        // An interval in a gap: in Cronos it occurs at the gap's end, here not at all.
        // (Where .NET contradicts itself about a zone, Cronos may stand still.)
        while (interval && next is { } at && !Shows(part, at, zone)
               && part.GetNextOccurrence(at, zone) is var later && later != at)
            next = later;
        return next;
    }

    private static bool Shows(CronExpression part, DateTime at, TimeZoneInfo zone)
    {
        var local = DateTime.SpecifyKind(TimeZoneInfo.ConvertTimeFromUtc(at, zone), DateTimeKind.Utc);
        return part.GetNextOccurrence(local, inclusive: true) == local;
    }

    // ---- random ones -------------------------------------------------------------------------

    public static Expression Random(Random random)
    {
        var fields = new List<string>();
        if (random.Next(3) == 0)
            fields.Add(random.Next(2) == 0 ? "0" : Field(random, 0, 59));
        fields.Add(random.Next(3) == 0 ? random.Next(60).ToString() : Field(random, 0, 59));
        // The hours in which clocks are set come often.
        fields.Add(random.Next(3) == 0 ? random.Next(4).ToString() : Field(random, 0, 23));
        fields.Add(Often(random) ? Any(random) : Day(random));
        fields.Add(Often(random) ? "*" : Names(random, Field(random, 1, 12), 1,
            "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"));
        fields.Add(Often(random) ? Any(random) : Weekday(random));
        return new Expression([.. fields]);
    }

    private static bool Often(Random random) => random.Next(5) < 3;

    private static string Any(Random random) => random.Next(4) == 0 ? "?" : "*";

    private static string Day(Random random) => random.Next(7) switch
    {
        0 => "L",
        1 => "LW",
        2 => $"L-{random.Next(28)}",
        3 => $"L-{random.Next(26)}W",
        4 => $"{random.Next(1, 32)}W",
        _ => Field(random, 1, 31),
    };

    private static string Weekday(Random random) => random.Next(5) switch
    {
        0 => $"{random.Next(8)}L",
        1 => $"{random.Next(8)}#{random.Next(1, 6)}",
        2 => $"FRI#{random.Next(1, 6)}",
        _ => Names(random, Field(random, 0, 7), 0, "SUN MON TUE WED THU FRI SAT SUN"),
    };

    /// <summary>Puts names in place of the numbers of a field, but for steps.</summary>
    private static string Names(Random random, string field, int first, string names)
    {
        if (random.Next(2) == 0)
            return field;
        var list = names.Split(' ');
        var name = list.Select(n => random.Next(2) == 0 ? n : n.ToLowerInvariant()).ToArray();
        return string.Join(',', field.Split(',').Select(item =>
        {
            var step = item.Split('/');
            step[0] = string.Join('-', step[0].Split('-').Select(v => v == "*" ? v : name[int.Parse(v) - first]));
            return string.Join('/', step);
        }));
    }

    private static string Field(Random random, int min, int max) => random.Next(8) switch
    {
        0 => "*",
        1 => $"*/{Step(random, max)}",
        2 or 3 => string.Join(',', Enumerable.Range(0, random.Next(2, 5)).Select(_ => Item(random, min, max))),
        4 => string.Join(',', Enumerable.Range(0, random.Next(2, 4)).Select(_ => random.Next(min, max + 1))),
        _ => Item(random, min, max),
    };

    private static string Item(Random random, int min, int max)
    {
        var low = random.Next(min, max + 1);
        var high = random.Next(min, max + 1);
        if (max == 7 && low == 7)
            high = 7; // from 7 to less: Cronos leaves Sunday itself out
        return random.Next(5) switch
        {
            0 or 1 => $"{low}-{high}",
            2 => $"{low}-{high}/{Step(random, max)}",
            3 => $"{low}/{Step(random, max)}",
            _ => $"{low}",
        };
    }

    private static int Step(Random random, int max) =>
        random.Next(2) == 0 ? random.Next(1, Math.Min(max, 6) + 1) : random.Next(1, max + 1);
}
