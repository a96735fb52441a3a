// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Microsoft.Extensions.DependencyInjection;

namespace Waypost.Hosting;

/// <summary>A method that is a recurring job; bound once, so that a run costs no look-up.</summary>
internal sealed class RecurringMethod<
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)] TService>
    where TService : class
{
    private readonly Func<TService, OutboxDelivery, CancellationToken, Task> _call;

    private RecurringMethod(JobDefinition job, Func<TService, OutboxDelivery, CancellationToken, Task> call) =>
        (Job, _call) = (job, call);

    public JobDefinition Job { get; }

    public static List<RecurringMethod<TService>> All()
    {
        var all = new List<RecurringMethod<TService>>();
        foreach (MethodInfo method in typeof(TService).GetMethods())
            foreach (RecurringAttribute attribute in method.GetCustomAttributes<RecurringAttribute>(false))
            {
                string name = attribute.Name ?? $"{typeof(TService).Name}.{method.Name}";
                all.Add(new RecurringMethod<TService>(attribute.Define(name, name), Bind(method)));
            }
        return all.Count > 0 ? all : throw new ArgumentException(
            $"{typeof(TService).Name} has no public method that is [Recurring]");
    }

    private static Func<TService, OutboxDelivery, CancellationToken, Task> Bind(MethodInfo method)
    {
        Type[] takes = method.GetParameters().Select(parameter => parameter.ParameterType).ToArray();
        bool fits = !method.IsStatic && !method.IsGenericMethod
            && (method.ReturnType == typeof(Task) || method.ReturnType == typeof(Task<string>));
        if (fits && takes is [])
        {
            var call = method.CreateDelegate<Func<TService, Task>>();
            return (service, _, _) => call(service);
        }
        if (fits && takes is [var only] && only == typeof(CancellationToken))
        {
            var call = method.CreateDelegate<Func<TService, CancellationToken, Task>>();
            return (service, _, token) => call(service, token);
        }
        if (fits && takes is [var first, var second]
            && first == typeof(OutboxDelivery) && second == typeof(CancellationToken))
            return method.CreateDelegate<Func<TService, OutboxDelivery, CancellationToken, Task>>();
        throw new ArgumentException(
            $"{method.DeclaringType?.Name}.{method.Name} is [Recurring] and must be like"
            + " Task M(), Task M(CancellationToken) or Task M(OutboxDelivery, CancellationToken),"
            + " or return a Task<string?>");
    }

    public async Task<Outcome> RunAsync(
        IServiceProvider services, OutboxDelivery run, CancellationToken cancellationToken)
    {
        Task task = _call(services.GetRequiredService<TService>(), run, cancellationToken)
            ?? throw new InvalidOperationException($"job {Job.Name}: the method returned null, not a task");
        await task.ConfigureAwait(false);
        if (task is Task<string?> { Result: { } output })
            run.KeepOutput(output);
        return Outcome.Done;
    }
}
