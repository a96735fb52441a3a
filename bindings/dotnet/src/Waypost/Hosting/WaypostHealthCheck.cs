// SPDX-License-Identifier: Apache-2.0
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
            OutboxStats stats = await store.Outbox.GetStatsAsync(false, cancellationToken)
                .ConfigureAwait(false);
            Dictionary<string, object> data = Data(store, stats.Total);
            return maxReadyAge is { } limit && stats.Total.OldestReadyAge > limit
                ? HealthCheckResult.Degraded(
                    $"a message has been ready for {stats.Total.OldestReadyAge}", data: data)
                : HealthCheckResult.Healthy($"{stats.Total.Ready} messages are ready", data);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            return new HealthCheckResult(
                context.Registration.FailureStatus, "the store cannot be read", e);
        }
    }

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
