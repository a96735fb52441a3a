// SPDX-License-Identifier: Apache-2.0
// COUNT next occurrences by Cronos, each from the last one on; prints how many a second: EXPRESSION ZONE COUNT
using System.Diagnostics;
using System.Globalization;
using Cronos;

CronExpression expression = CronExpression.Parse(
    args[0], args[0].Split(' ').Length == 6 ? CronFormat.IncludeSeconds : CronFormat.Standard);
TimeZoneInfo zone = TimeZoneInfo.FindSystemTimeZoneById(args[1]);
int count = int.Parse(args[2], CultureInfo.InvariantCulture);

Run(count);
Thread.Sleep(200); // it is compiled anew while it runs
Run(count);
var watch = Stopwatch.StartNew();
Run(count);
Console.WriteLine((count / watch.Elapsed.TotalSeconds).ToString(CultureInfo.InvariantCulture));

void Run(int times)
{
    var start = new DateTime(2027, 1, 15, 8, 0, 0, DateTimeKind.Utc);
    DateTime at = start;
    for (int i = 0; i < times; i++)
        at = expression.GetNextOccurrence(at, zone) ?? start;
}
