// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Waypost;
using Waypost.Hosting;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Waypost in a host: outbox, inbox and the like as services, and a worker that runs with the
/// host.</summary>
public static class WaypostServices
{
    /// <summary>Add a store, its <see cref="IOutbox"/>, <see cref="IInbox"/>,
    /// <see cref="ISchedulerClient"/>, <see cref="IJoins"/>, <see cref="ILeases"/> and <see cref="ISemaphores"/>, and a
    /// worker for the handlers that are added to what this returns. All of it starts and stops with the
    /// host.</summary>
    public static WaypostBuilder AddWaypost(
        this IServiceCollection services, Action<WaypostOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        OptionsBuilder<WaypostOptions> options = services.AddOptions<WaypostOptions>();
        if (configure is not null)
            options.Configure(configure);
        services.TryAddSingleton(Open);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Outbox);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Inbox);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Scheduler);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Joins);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Leases);
        services.TryAddSingleton(provider => provider.GetRequiredService<WaypostStore>().Semaphores);
        services.TryAddSingleton<WorkerService>();
        services.TryAddSingleton(new ServiceList(services));
        services.TryAddScoped<MadeForScope>();
        services.TryAddEnumerable(
            ServiceDescriptor.Singleton<IHostedService, WorkerService>(
                provider => provider.GetRequiredService<WorkerService>()));
        return new WaypostBuilder(services);
    }

    /// <summary>The same with options from a section, such as
    /// <c>{ "Url": "sqlite:app.db", "Worker": { "Lease": "00:01:00" } }</c>.</summary>
    public static WaypostBuilder AddWaypost(
        this IServiceCollection services, IConfiguration section,
        Action<WaypostOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(section);
        WaypostBuilder builder = services.AddWaypost();
        services.Configure<WaypostOptions>(section);
        if (configure is not null)
            services.Configure(configure);
        return builder;
    }

    /// <summary>Add several stores, an <see cref="IOutboxRouter"/> and an <see cref="IInboxRouter"/> that find them by their StoreIds, and
    /// one worker for all of them. An <see cref="IOutboxSelectionStrategy"/> or <see cref="IInboxSelectionStrategy"/>
    /// among the services decides whose message is next.</summary>
    /// <param name="services">The services.</param>
    /// <param name="stores">Each with a Url and a StoreId of its own.</param>
    /// <param name="configure">Options of the worker.</param>
    public static WaypostBuilder AddWaypost(
        this IServiceCollection services, IEnumerable<WaypostOptions> stores,
        Action<WaypostOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(stores);
        WaypostOptions[] list = stores.ToArray();
        return services.AddRouter(new StoreSource(list, null), configure);
    }

    /// <summary>The same for stores that an <see cref="IOutboxDatabaseDiscovery"/> or
    /// <see cref="IInboxDatabaseDiscovery"/> among the services finds, again and again.</summary>
    /// <param name="services">The services.</param>
    /// <param name="refreshInterval">The time between; null: 5 minutes.</param>
    /// <param name="configure">Options of the worker.</param>
    public static WaypostBuilder AddDynamicWaypost(
        this IServiceCollection services, TimeSpan? refreshInterval = null,
        Action<WaypostOptions>? configure = null) =>
        services.AddRouter(new StoreSource(null, refreshInterval), configure);

    private static WaypostBuilder AddRouter(
        this IServiceCollection services, StoreSource source, Action<WaypostOptions>? configure)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions<WaypostOptions>().Configure(configure ?? (_ => { }));
        services.TryAddSingleton(source);
        services.TryAddSingleton(provider => new WaypostRouter(
            provider.GetRequiredService<IOptions<WaypostOptions>>().Value,
            provider.GetService<ILoggerFactory>()?.CreateLogger("Waypost"),
            provider.GetService<ManualClock>()));
        services.TryAddSingleton<IOutboxRouter>(
            provider => provider.GetRequiredService<WaypostRouter>());
        services.TryAddSingleton<IInboxRouter>(
            provider => provider.GetRequiredService<WaypostRouter>());
        services.TryAddSingleton<WorkerService>();
        services.TryAddSingleton(new ServiceList(services));
        services.TryAddScoped<MadeForScope>();
        services.TryAddEnumerable(
            ServiceDescriptor.Singleton<IHostedService, WorkerService>(
                provider => provider.GetRequiredService<WorkerService>()));
        return new WaypostBuilder(services);
    }

    private static WaypostStore Open(IServiceProvider provider) => WaypostStore.Open(
        provider.GetRequiredService<IOptions<WaypostOptions>>().Value,
        provider.GetService<ILoggerFactory>()?.CreateLogger("Waypost"),
        provider.GetService<ManualClock>());

    /// <summary>Report the health of all queues, with their counts: degraded when a message of
    /// any queue has been ready for longer than <paramref name="maxReadyAge"/>, or is held by a lease that
    /// is over and that nobody has reaped yet, as when a process died; unhealthy when the store cannot be
    /// read, or there are handlers and the worker does not run. Of several stores the worst counts, and
    /// each has its data under its StoreId.</summary>
    public static IHealthChecksBuilder AddWaypost(
        this IHealthChecksBuilder builder, string name = "waypost",
        HealthStatus? failureStatus = null, IEnumerable<string>? tags = null,
        TimeSpan? maxReadyAge = null) => builder.Add(name, failureStatus, tags, maxReadyAge, false);

    /// <summary>The same of timers and jobs alone, for hosts that run a scheduler. The store is that of
    /// <c>services.AddWaypost()</c>.</summary>
    public static IHealthChecksBuilder AddWaypostScheduler(
        this IHealthChecksBuilder builder, string name = "waypost-scheduler",
        HealthStatus? failureStatus = null, IEnumerable<string>? tags = null,
        TimeSpan? maxReadyAge = null) => builder.Add(name, failureStatus, tags, maxReadyAge, true);

    private static IHealthChecksBuilder Add(
        this IHealthChecksBuilder builder, string name, HealthStatus? failureStatus,
        IEnumerable<string>? tags, TimeSpan? maxReadyAge, bool schedulerOnly)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.Add(new HealthCheckRegistration(
            name, provider => new WaypostHealthCheck(provider, maxReadyAge, schedulerOnly),
            failureStatus, tags));
    }
}

/// <summary>Adds handlers to the worker of <see cref="WaypostServices.AddWaypost(IServiceCollection, Action{WaypostOptions})"/>.</summary>
public sealed class WaypostBuilder
{
    internal WaypostBuilder(IServiceCollection services) => Services = services;

    /// <summary>The services.</summary>
    public IServiceCollection Services { get; }

    /// <summary>Add a handler class. It is made anew in a scope of its own for each message, unless
    /// it was registered otherwise.</summary>
    /// <param name="configure">What differs from the worker's options for its topic.</param>
    public WaypostBuilder AddHandler<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        Action<OutboxWorkerOptions>? configure = null) where THandler : class, IOutboxHandler =>
        AddClass<THandler>(WaypostQueue.Outbox, Handling.Of, configure);

    /// <summary>Add a handler class for messages of the inbox, likewise.</summary>
    /// <param name="configure">What differs from the worker's options for its topic.</param>
    public WaypostBuilder AddInboxHandler<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        Action<OutboxWorkerOptions>? configure = null) where THandler : class, IInboxHandler =>
        AddClass<THandler>(WaypostQueue.Inbox, Handling.Of, configure);

    /// <summary>Add a handler class for timers, likewise.</summary>
    /// <param name="configure">What differs from the worker's options for its topic.</param>
    public WaypostBuilder AddTimerHandler<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        Action<OutboxWorkerOptions>? configure = null) where THandler : class, ITimerHandler =>
        AddClass<THandler>(WaypostQueue.Timer, Handling.Of, configure);

    /// <summary>Add a handler class for runs of jobs, likewise. Each <see cref="RecurringAttribute"/> on it
    /// is a job of its topic, which is registered when the host starts.</summary>
    /// <param name="configure">What differs from the worker's options for its topic.</param>
    public WaypostBuilder AddJobHandler<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        Action<OutboxWorkerOptions>? configure = null) where THandler : class, IJobHandler =>
        AddClass<THandler>(
            WaypostQueue.Job, Handling.Of, configure,
            RecurringAttribute.JobsOf(typeof(THandler)));

    /// <summary>Add the methods of a service that are <see cref="RecurringAttribute"/>: each is a job, which
    /// is registered when the host starts, and calls the method of a service in a scope of its own. They
    /// are public, take nothing, a CancellationToken, or an <see cref="OutboxDelivery"/> and a
    /// CancellationToken, and return a Task or, with the run's output, a Task&lt;string?&gt;.</summary>
    /// <param name="configure">What differs from the worker's options for their topics.</param>
    /// <exception cref="ArgumentException">A method is otherwise, or there is none.</exception>
    public WaypostBuilder AddRecurring<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors
                                    | DynamicallyAccessedMemberTypes.PublicMethods)] TService>(
        Action<OutboxWorkerOptions>? configure = null) where TService : class
    {
        Services.TryAddScoped<TService>();
        foreach (RecurringMethod<TService> method in RecurringMethod<TService>.All())
            Services.AddSingleton(new HandlerSource(
                method.Job.Topic, null, method.RunAsync, Options(configure), WaypostQueue.Job,
                [_ => method.Job]));
        return this;
    }

    private WaypostBuilder AddClass<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        WaypostQueue queue, Func<THandler, Handling> handling, Action<OutboxWorkerOptions>? configure,
        IReadOnlyList<Func<string, JobDefinition>>? jobs = null) where THandler : class
    {
        Services.TryAddScoped<THandler>();
        Services.AddSingleton(new HandlerSource(
            null, provider => handling(provider.GetRequiredService<THandler>()), null,
            Options(configure), queue, jobs));
        return this;
    }

    /// <summary>Add a function for a topic of a queue. It gets the services of the message's own
    /// scope.</summary>
    public WaypostBuilder AddHandler(
        string topic, Func<IServiceProvider, OutboxDelivery, CancellationToken, Task> handler,
        Action<OutboxWorkerOptions>? configure = null, WaypostQueue queue = WaypostQueue.Outbox)
    {
        ArgumentNullException.ThrowIfNull(topic);
        ArgumentNullException.ThrowIfNull(handler);
        return Add(topic, async (provider, delivery, token) =>
        {
            await handler(provider, delivery, token).ConfigureAwait(false);
            return Outcome.Done;
        }, configure, queue);
    }

    /// <summary>Add a function that answers with an outcome.</summary>
    public WaypostBuilder AddHandlerWithOutcome(
        string topic,
        Func<IServiceProvider, OutboxDelivery, CancellationToken, Task<Outcome>> handler,
        Action<OutboxWorkerOptions>? configure = null, WaypostQueue queue = WaypostQueue.Outbox)
    {
        ArgumentNullException.ThrowIfNull(topic);
        ArgumentNullException.ThrowIfNull(handler);
        return Add(topic, handler, configure, queue);
    }

    private WaypostBuilder Add(
        string topic,
        Func<IServiceProvider, OutboxDelivery, CancellationToken, Task<Outcome>> handler,
        Action<OutboxWorkerOptions>? configure, WaypostQueue queue)
    {
        Services.AddSingleton(new HandlerSource(topic, null, handler, Options(configure), queue));
        return this;
    }

    private static OutboxWorkerOptions? Options(Action<OutboxWorkerOptions>? configure)
    {
        if (configure is null)
            return null;
        var options = new OutboxWorkerOptions();
        configure(options);
        return options;
    }
}
