// SPDX-License-Identifier: Apache-2.0
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Waypost.Hosting;

/// <summary>The core's rule for the worker and its stores; where no worker runs, for the one store or each
/// of a router's: the worst counts.</summary>
internal sealed class WaypostHealthCheck(
    IServiceProvider services, TimeSpan? maxReadyAge, bool schedulerOnly) : IHealthCheck
{
    private bool HasRouter => services.GetService<StoreSource>() is not null;

    private HealthScope Scope => schedulerOnly ? HealthScope.Scheduler : HealthScope.All;

    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        HealthStatus failure = context.Registration.FailureStatus;
        if (!HasRouter && services.GetService<IServiceProviderIsService>()?.IsService(typeof(WaypostStore)) == false)
            return new HealthCheckResult(failure, "there is no store to look at: services.AddWaypost() is missing");
        WorkerService? service = services.GetService<WorkerService>();
        HealthCheckResult result = service?.Running is { } worker
            ? await AskAsync(
                () => worker.CheckHealthAsync(Scope, maxReadyAge, null, cancellationToken), HasRouter, failure)
                .ConfigureAwait(false)
            : await StoresAsync(failure, cancellationToken).ConfigureAwait(false);
        if (service is null)
            return result;
        var data = new Dictionary<string, object>(result.Data) { ["workerRunning"] = service.IsRunning };
        if (service.Counters is { } counters)
            (data["acked"], data["errors"], data["leasesLost"]) =
                (counters.Acked, counters.Errors, counters.LeasesLost);
        return service.IsMissing(schedulerOnly)
            ? new HealthCheckResult(failure, "the worker is not running", result.Exception, data)
            : new HealthCheckResult(result.Status, result.Description, result.Exception, data);
    }

    private async Task<HealthCheckResult> StoresAsync(
        HealthStatus failure, CancellationToken cancellationToken)
    {
        if (!HasRouter)
            return await OneAsync(
                services.GetRequiredService<WaypostStore>, failure, cancellationToken).ConfigureAwait(false);
        WaypostRouter router = services.GetRequiredService<WaypostRouter>();
        string[] ids = [.. router.StoreIds];
        HealthCheckResult[] all = await Task.WhenAll(
            ids.Select(id => OneAsync(() => router.GetStore(id), failure, cancellationToken)))
            .ConfigureAwait(false);
        var data = new Dictionary<string, object>();
        var worst = new HealthCheckResult(HealthStatus.Healthy, "all stores are healthy");
        foreach ((string id, HealthCheckResult result) in ids.Zip(all))
        {
            data[id] = result.Data;
            if (result.Status < worst.Status)
                worst = new HealthCheckResult(
                    result.Status, $"store {id}: {result.Description}", result.Exception);
        }
        return new HealthCheckResult(worst.Status, worst.Description, worst.Exception, data);
    }

    private static Task<HealthCheckResult> AskAsync(
        Func<Task<WaypostHealth>> ask, bool several, HealthStatus failure) => GuardAsync(
        async () =>
        {
            WaypostHealth health = await ask().ConfigureAwait(false);
            HealthStatus status = health.Status switch
            {
                WaypostHealthStatus.Healthy => HealthStatus.Healthy,
                WaypostHealthStatus.Degraded => HealthStatus.Degraded,
                _ => failure,
            };
            Dictionary<string, object> data = several
                ? health.Stores.ToDictionary(store => store.Id, store => (object)DataOf(store))
                : DataOf(health.Stores[0]);
            return new HealthCheckResult(
                status, health.Reason.Length > 0 ? health.Reason : "healthy", null, data);
        }, failure);

    private Task<HealthCheckResult> OneAsync(
        Func<WaypostStore> open, HealthStatus failure, CancellationToken cancellationToken) => AskAsync(
        async () =>
        {
            WaypostStore store = await Task.Run(open, cancellationToken).ConfigureAwait(false);
            return await store.CheckHealthAsync(Scope, maxReadyAge, null, cancellationToken)
                .ConfigureAwait(false);
        }, false, failure);

    private static async Task<HealthCheckResult> GuardAsync(
        Func<Task<HealthCheckResult>> check, HealthStatus failure)
    {
        try
        {
            return await check().ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            return new HealthCheckResult(failure, "the store cannot be read", e);
        }
    }

    private static Dictionary<string, object> DataOf(WaypostStoreHealth store)
    {
        var data = new Dictionary<string, object> { ["store"] = store.Id };
        void Add(string name, object? value)
        {
            if (value is not null)
                data[name] = value;
        }
        if (store.Queues.GetValueOrDefault(WaypostQueue.Outbox) is { } outbox)
            (data["ready"], data["scheduled"], data["inProgress"], data["blocked"], data["oldestReadyAge"]) =
                (outbox.Ready, outbox.Scheduled, outbox.InProgress, outbox.Blocked, outbox.OldestReadyAge);
        Add("inboxReady", store.Queues.GetValueOrDefault(WaypostQueue.Inbox)?.Ready);
        Add("timersReady", store.Queues.GetValueOrDefault(WaypostQueue.Timer)?.Ready);
        Add("jobRunsReady", store.Queues.GetValueOrDefault(WaypostQueue.Job)?.Ready);
        Add("latency", store.Latency);
        Add("schemaVersion", store.SchemaVersion);
        Add("leasesExpired", store.Stale);
        Add("jobsLate", store.JobsLate);
        Add("overdue", store.Overdue);
        return data;
    }
}
