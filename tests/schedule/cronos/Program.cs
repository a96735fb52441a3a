// SPDX-License-Identifier: Apache-2.0
// Compares the library's next occurrences with those of Cronos, for random expressions in random
// zones, mostly near changes of the clock. Where the two differ on purpose (docs/cron.md), what is
// expected is made from Cronos's answers.
//
// usage: schedule_cronos LIBRARY ZONE_SPANS [CASES]      the seed is WAYPOST_TEST_SEED, or a fixed one
using System.Globalization;
using System.Runtime.InteropServices;
using ScheduleCronos;

NativeLibrary.SetDllImportResolver(typeof(Library).Assembly, (_, _, _) => NativeLibrary.Load(args[0]));
int cases = args.Length > 2 ? int.Parse(args[2], CultureInfo.InvariantCulture) : 20_000;
int seed = int.Parse(Environment.GetEnvironmentVariable("WAYPOST_TEST_SEED") ?? "20260329",
    CultureInfo.InvariantCulture);
return new Comparison(new Random(seed), Zone.All(args[1])).Run(cases, seed);

namespace ScheduleCronos
{
    internal sealed class Comparison(Random random, Zone[] zones)
    {
        private const int InARow = 4;
        private static readonly DateTime First = new(1975, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        private static readonly DateTime Last = new(2100, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        private int compared, never, aside, wrong;

        public int Run(int cases, int seed)
        {
            for (var i = 0; i < cases; i++)
                Check(Expression.Random(random), zones[random.Next(zones.Length)]);
            Console.WriteLine($"cronos: {compared} occurrences of {cases} expressions in {zones.Length}"
                + $" zones, {wrong} differ, {never} never fire, {aside} set aside (seed {seed})");
            // What .NET does not know of its own zones cannot be compared; it is little.
            return wrong > 0 || aside > cases / 200 || compared < 3 * cases ? 1 : 0;
        }

        private void Check(Expression expression, Zone zone)
        {
            using var schedule = Library.New(expression.Text, zone.Info.Id, out var error);
            if (schedule is null)
            {
                // Refused: then Cronos finds nothing either.
                if (!error.Contains("never fires", StringComparison.Ordinal)
                    || expression.Next(First, zone.Info) is not null)
                    Report($"{expression.Text} in {zone.Info.Id}: {error}");
                never++;
                return;
            }
            var from = Instant(zone);
            for (var n = 0; n < InARow; n++)
            {
                var got = schedule.Next(from);
                var want = expression.Next(from, zone.Info);
                if (got == want)
                    compared++;
                else if (zone.IsKnown(from, Later(got, want)))
                    Report($"{expression.Text} in {zone.Info.Id} after {from:o}: {got:s}Z, but Cronos says"
                        + $" {want:s}Z");
                else
                    aside++;
                if (want is null || got != want)
                    return;
                from = want.Value;
            }
        }

        private void Report(string text)
        {
            if (wrong++ < 30)
                Console.WriteLine(text);
        }

        private static DateTime Later(DateTime? a, DateTime? b) =>
            a is null || b is null ? Last : a > b ? a.Value : b.Value;

        /// <summary>Any instant, or one near a change of the clock; sometimes with a part of a second.</summary>
        private DateTime Instant(Zone zone)
        {
            var at = First.AddSeconds(random.NextInt64((long)(Last - First).TotalSeconds));
            if (random.Next(4) > 0 && zone.ChangeAfter(at) is { } change)
                at = change.AddSeconds(random.Next(-2 * 86400, 86400));
            return random.Next(2) == 0 ? at : at.AddMicroseconds(random.Next(1_000_000));
        }
    }
}
