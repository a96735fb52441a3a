// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Waypost.Hosting;

/// <summary>The health of all queues or of the scheduler's (timers and runs of jobs) alone, in the one store
/// or in each of a router's: the worst counts.</summary>
internal sealed class WaypostHealthCheck(
    IServiceProvider services, TimeSpan? maxReadyAge, bool schedulerOnly) : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        HealthStatus failure = context.Registration.FailureStatus;
        HealthCheckResult stores = services.GetService<StoreSource>() is null
            ? await OneAsync(
                services.GetRequiredService<WaypostStore>, failure, cancellationToken).ConfigureAwait(false)
            : await AllAsync(
                services.GetRequiredService<WaypostRouter>(), failure, cancellationToken).ConfigureAwait(false);
        var data = new Dictionary<string, object>(stores.Data);
        if (services.GetService<WorkerService>() is not { } worker)
            return stores;
        if (worker.Counters is { } counters)
            (data["acked"], data["errors"], data["leasesLost"]) =
                (counters.Acked, counters.Errors, counters.LeasesLost);
        data["workerRunning"] = worker.IsRunning;
        return worker.IsMissing(schedulerOnly)
            ? new HealthCheckResult(failure, "the worker is not running", stores.Exception, data)
            : new HealthCheckResult(stores.Status, stores.Description, stores.Exception, data);
    }

    /// <summary>Each store has its data under its id.</summary>
    private async Task<HealthCheckResult> AllAsync(
        WaypostRouter router, HealthStatus failure, CancellationToken cancellationToken)
    {
        var data = new Dictionary<string, object>();
        var worst = new HealthCheckResult(HealthStatus.Healthy, "all stores are healthy");
        string[] ids = [.. router.StoreIds];
        HealthCheckResult[] all = await Task.WhenAll(
            ids.Select(id => OneAsync(() => router.GetStore(id), failure, cancellationToken)))
            .ConfigureAwait(false);
        foreach ((string id, HealthCheckResult result) in ids.Zip(all))
        {
            data[id] = result.Data;
            if (result.Status < worst.Status)
                worst = new HealthCheckResult(
                    result.Status, $"store {id}: {result.Description}", result.Exception);
        }
        return new HealthCheckResult(worst.Status, worst.Description, worst.Exception, data);
    }

    private async Task<HealthCheckResult> OneAsync(
        Func<WaypostStore> open, HealthStatus failure, CancellationToken cancellationToken)
    {
        try
        {
            return await ReadAsync(
                await Task.Run(open, cancellationToken).ConfigureAwait(false), cancellationToken)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            return new HealthCheckResult(failure, "the store cannot be read", e);
        }
    }

    private async Task<HealthCheckResult> ReadAsync(WaypostStore store, CancellationToken cancellationToken)
    {
        long begin = Stopwatch.GetTimestamp();
        var data = new Dictionary<string, object> { ["store"] = store.Id };
        var all = new List<TopicStats>();
        if (!schedulerOnly)
        {
            TopicStats outbox = await TotalAsync(store.Outbox, cancellationToken).ConfigureAwait(false);
            (data["ready"], data["scheduled"], data["inProgress"], data["blocked"], data["oldestReadyAge"]) =
                (outbox.Ready, outbox.Scheduled, outbox.InProgress, outbox.Blocked, outbox.OldestReadyAge);
            all.Add(outbox);
            all.Add(await TotalAsync(store.Inbox, cancellationToken).ConfigureAwait(false));
            data["inboxReady"] = all[^1].Ready;
        }
        all.Add(await TotalAsync(store.Scheduler.Timers, cancellationToken).ConfigureAwait(false));
        data["timersReady"] = all[^1].Ready;
        all.Add(await TotalAsync(store.Scheduler.JobRuns, cancellationToken).ConfigureAwait(false));
        data["jobRunsReady"] = all[^1].Ready;
        data["latency"] = Stopwatch.GetElapsedTime(begin); // of all that was read
        long stale = all.Sum(queue => queue.LeaseExpired);
        data["leasesExpired"] = stale;
        TimeSpan oldest = all.Max(queue => queue.OldestReadyAge);
        if (stale > 0)
            return HealthCheckResult.Degraded(
                $"{stale} messages are held by leases that are over", data: data);
        return maxReadyAge is { } limit && oldest > limit
            ? HealthCheckResult.Degraded($"a message has been ready for {oldest}", data: data)
            : HealthCheckResult.Healthy($"{all.Sum(queue => queue.Ready)} messages are ready", data);
    }

    private static async Task<TopicStats> TotalAsync<TMessage>(
        IWorkQueue<TMessage> queue, CancellationToken cancellationToken) where TMessage : OutboxMessage =>
        (await queue.GetStatsAsync(false, cancellationToken).ConfigureAwait(false)).Total;
}
