// SPDX-License-Identifier: Apache-2.0
// A program that ends while its worker runs, in the way that it is told to: EndsEarly URL HOW.
using Microsoft.Extensions.Logging.Abstractions;
using Waypost;

WaypostStore store = WaypostStore.Open(args[0], logger: NullLogger.Instance);
if (args[1] == "killed in runs")
{
    OutboxWorker held = store.CreateWorker(
        new OutboxWorkerOptions { JobLease = TimeSpan.FromSeconds(1), Concurrency = 2 });
    held.Handle("k", async (run, _) =>
    {
        Console.WriteLine(run.Id);
        await Task.Delay(Timeout.Infinite, CancellationToken.None);
    }, queue: WaypostQueue.Job);
    held.Start();
    await Task.Delay(Timeout.Infinite);
}
OutboxWorker worker = store.CreateWorker();
using var started = new SemaphoreSlim(0);
worker.Handle("a", (_, _) =>
{
    started.Release();
    if (args[1] == "exit in handler")
        Environment.Exit(3);
    Thread.Sleep(20);
    return Task.CompletedTask;
});
worker.Start();
await started.WaitAsync();
switch (args[1])
{
    case "exit": Environment.Exit(3); break;
    case "throw": throw new InvalidOperationException("on purpose");
    case "exit in handler": await Task.Delay(Timeout.Infinite); break;
}
return 0;
