// SPDX-License-Identifier: Apache-2.0
// Handle COUNT messages that are in the database at URL with handlers that do nothing, and print
// the rate: Handlers URL COUNT sync|async THREADS. What follows is for other languages.
using System.Diagnostics;
using System.Globalization;
using Microsoft.Extensions.Logging.Abstractions;
using Waypost;

const string Topic = "bench.topic";
var limit = TimeSpan.FromSeconds(120);

(string url, int count, string kind, int threads) =
    (args[0], int.Parse(args[1], null), args[2], int.Parse(args[3], null));
using WaypostStore store = WaypostStore.Open(url, logger: NullLogger.Instance);
await using OutboxWorker worker = store.CreateWorker(new() { Concurrency = 16, Threads = threads });
if (kind == "sync")
    worker.Handle(Topic, (_, _) => Task.CompletedTask);
else
    worker.Handle(Topic, async (_, _) => await Task.Yield());

var watch = Stopwatch.StartNew();
TimeSpan cpu = Environment.CpuUsage.TotalTime;
worker.Start();
while (worker.Counters.Acked < count)
{
    if (watch.Elapsed > limit)
    {
        Console.WriteLine($"only {worker.Counters} within {limit}");
        return 1;
    }
    Thread.Sleep(2);
}
double seconds = watch.Elapsed.TotalSeconds;
cpu = Environment.CpuUsage.TotalTime - cpu;
Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
    $$"""{"rate": {{count / seconds}}, "cpu_seconds": {{cpu.TotalSeconds}}}"""));
return 0;
