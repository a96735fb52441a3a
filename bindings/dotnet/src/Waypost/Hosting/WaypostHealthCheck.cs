// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Waypost.Hosting;

internal sealed class WaypostHealthCheck(IServiceProvider services, TimeSpan? maxReadyAge)
    : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        try
        {
            WaypostStore store = services.GetRequiredService<WaypostStore>();
            long begin = Stopwatch.GetTimestamp();
            TopicStats outbox = await TotalAsync(store.Outbox, cancellationToken).ConfigureAwait(false);
            TopicStats[] all =
            [
                outbox,
                await TotalAsync(store.Inbox, cancellationToken).ConfigureAwait(false),
                await TotalAsync(store.Scheduler.Timers, cancellationToken).ConfigureAwait(false),
                await TotalAsync(store.Scheduler.JobRuns, cancellationToken).ConfigureAwait(false),
            ];
            Dictionary<string, object> data = Data(store, outbox);
            data["latency"] = Stopwatch.GetElapsedTime(begin); // of all that was read
            (data["inboxReady"], data["timersReady"], data["jobRunsReady"]) =
                (all[1].Ready, all[2].Ready, all[3].Ready);
            TimeSpan oldest = all.Max(queue => queue.OldestReadyAge);
            long stale = all.Sum(queue => queue.LeaseExpired);
            data["leasesExpired"] = stale;
            if (stale > 0)
                return HealthCheckResult.Degraded(
                    $"{stale} messages are held by leases that are over", data: data);
            return maxReadyAge is { } limit && oldest > limit
                ? HealthCheckResult.Degraded($"a message has been ready for {oldest}", data: data)
                : HealthCheckResult.Healthy($"{all.Sum(queue => queue.Ready)} messages are ready", data);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            return new HealthCheckResult(
                context.Registration.FailureStatus, "the store cannot be read", e);
        }
    }

    private static async Task<TopicStats> TotalAsync<TMessage>(
        IWorkQueue<TMessage> queue, CancellationToken cancellationToken) where TMessage : OutboxMessage =>
        (await queue.GetStatsAsync(false, cancellationToken).ConfigureAwait(false)).Total;

    private Dictionary<string, object> Data(WaypostStore store, TopicStats total)
    {
        var data = new Dictionary<string, object>
        {
            ["store"] = store.Id,
            ["ready"] = total.Ready,
            ["scheduled"] = total.Scheduled,
            ["inProgress"] = total.InProgress,
            ["blocked"] = total.Blocked,
            ["oldestReadyAge"] = total.OldestReadyAge,
        };
        if (services.GetService<WorkerService>()?.Counters is { } counters)
        {
            data["acked"] = counters.Acked;
            data["errors"] = counters.Errors;
            data["leasesLost"] = counters.LeasesLost;
        }
        return data;
    }
}
