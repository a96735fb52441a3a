// SPDX-License-Identifier: Apache-2.0
using Microsoft.Extensions.DependencyInjection;

namespace Waypost.Hosting;

/// <summary>What the host's services were built from.</summary>
internal sealed record ServiceList(IServiceCollection Services);

/// <summary>What was made for a scope by hand, and ends with it, before what it was made of.</summary>
internal sealed class MadeForScope : IAsyncDisposable
{
    private readonly List<object> _made = [];

    public void Add(object made) => _made.Add(made);

    public async ValueTask DisposeAsync()
    {
        foreach (object made in _made.AsEnumerable().Reverse())
        {
            if (made is IAsyncDisposable asynchronous)
                await asynchronous.DisposeAsync().ConfigureAwait(false);
            else
                (made as IDisposable)?.Dispose();
        }
    }
}

/// <summary>Handlers that were registered as services of their kind, many under one type. The provider gives
/// all of them or the last, so that the one of a message is made here from its registration, and no other.
/// </summary>
internal sealed class PlainHandlers<THandler> where THandler : class
{
    private readonly THandler[] _handlers;
    private readonly ServiceDescriptor[] _known;

    /// <summary>All of them are made once, in the scope in which they are asked for their topics.</summary>
    public PlainHandlers(IServiceProvider scope)
    {
        _handlers = scope.GetServices<THandler>().ToArray();
        _known = scope.GetService<ServiceList>()?.Services
            .Where(one => one.ServiceType == typeof(THandler) && !one.IsKeyedService).ToArray() ?? [];
        // A container may have others, or another order, than the list that it was filled from.
        if (_known.Length != _handlers.Length || _known.Where(
                (one, index) => one.ImplementationType is { } type && type != _handlers[index].GetType()).Any())
            _known = [];
    }

    public IReadOnlyList<THandler> Handlers => _handlers;

    /// <summary>The one at <paramref name="index"/>, as its lifetime says.</summary>
    public THandler Make(IServiceProvider provider, int index)
    {
        if (_known.Length == 0)
            return provider.GetServices<THandler>().ElementAt(index);
        ServiceDescriptor known = _known[index];
        if (known.Lifetime == ServiceLifetime.Singleton)
            return _handlers[index];
        object made = known.ImplementationFactory is { } factory
            ? factory(provider)
            : ActivatorUtilities.CreateInstance(provider, known.ImplementationType!);
        provider.GetRequiredService<MadeForScope>().Add(made);
        return (THandler)made;
    }
}
