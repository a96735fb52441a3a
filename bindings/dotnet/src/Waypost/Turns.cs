// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>Those of this process who wait for a lease's or semaphore's name. Each release wakes one, who
/// waits longest.</summary>
internal sealed class Turns
{
    private readonly Dictionary<(wp_lease_kind, string), List<Turn>> _waiting = [];

    /// <summary>One was released.</summary>
    public void Next((wp_lease_kind, string) name)
    {
        lock (_waiting)
        {
            if (!_waiting.TryGetValue(name, out List<Turn>? queue))
                return;
            Turn first = queue[0];
            Remove(first);
            first.Wake();
        }
    }

    public void Add(Turn turn)
    {
        lock (_waiting)
        {
            if (!_waiting.TryGetValue(turn.Name, out List<Turn>? queue))
                _waiting[turn.Name] = queue = [];
            if (!queue.Contains(turn))
                queue.Add(turn);
        }
    }

    /// <summary>False: it was woken.</summary>
    public bool Remove(Turn turn)
    {
        lock (_waiting)
        {
            if (!_waiting.TryGetValue(turn.Name, out List<Turn>? queue) || !queue.Remove(turn))
                return false;
            if (queue.Count == 0)
                _waiting.Remove(turn.Name);
            return true;
        }
    }
}

/// <summary>The place of one who waits, taken anew before each attempt: so no release goes unheard. At the end
/// it is given up, and a release that was not made use of goes to the next one.</summary>
internal sealed class Turn(Turns turns, (wp_lease_kind, string) name) : IDisposable
{
    private TaskCompletionSource? _woken;

    public (wp_lease_kind, string) Name => name;

    public void Take()
    {
        if (_woken is null || _woken.Task.IsCompleted)
            _woken = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        turns.Add(this);
    }

    public void Wake() => _woken!.TrySetResult();

    /// <summary>Until it is woken, or the pause is over.</summary>
    public async Task WaitAsync(TimeSpan pause, CancellationToken cancellationToken)
    {
        await _woken!.Task.WaitAsync(pause, cancellationToken)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        cancellationToken.ThrowIfCancellationRequested();
    }

    public void Dispose()
    {
        if (_woken is not null && !turns.Remove(this))
            turns.Next(name);
    }
}
