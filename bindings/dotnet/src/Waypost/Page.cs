// SPDX-License-Identifier: Apache-2.0
using System.Collections;
using System.Runtime.CompilerServices;
using Waypost.Interop;

namespace Waypost;

/// <summary>A page of a list. A snapshot; give it to the same call to get the page that follows.</summary>
public sealed class Page<T> : IReadOnlyList<T>, IDisposable
{
    private readonly Handle _cursor;
    private readonly T[] _items;

    internal Page(Handle cursor, T[] items) => (_cursor, _items) = (cursor, items);

    /// <summary>One of its entries.</summary>
    public T this[int index] => _items[index];

    /// <summary>How many entries it has.</summary>
    public int Count => _items.Length;

    /// <inheritdoc/>
    public IEnumerator<T> GetEnumerator() => _items.AsEnumerable().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Let go of the place in the list; the entries stay.</summary>
    public void Dispose() => _cursor.Dispose();

    /// <summary>The place after a page: null for the first page.</summary>
    private static TCursor? After<TCursor>(Page<T>? page, string name) where TCursor : Handle =>
        page is null ? null
        : page._cursor as TCursor ?? throw new ArgumentException("the page is one of another list", name);

    /// <summary>The page after another one; after an empty one there is none. Errors name the caller's
    /// parameter.</summary>
    internal static Page<T> Read<TCursor>(
        Page<T>? after, Func<TCursor?, TCursor> read, Func<TCursor, T[]> items,
        [CallerArgumentExpression(nameof(after))] string name = "") where TCursor : Handle
    {
        TCursor? place = After<TCursor>(after, name);
        if (after is { Count: 0 })
            return after;
        TCursor cursor = read(place);
        return new Page<T>(cursor, items(cursor));
    }
}
