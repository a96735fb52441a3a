// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using System.Data.Common;
using System.Diagnostics;
using System.Runtime.InteropServices;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// Two copies of SQLite in one process drop each other's locks on a file that both have open, and
/// can corrupt it (sqlite.org/howtocorrupt.html, 2.2.1). Waypost's core uses the system's library;
/// Microsoft.Data.Sqlite by default one of its own. A connection of such a copy is refused.
/// </summary>
internal static class SqliteCopies
{
    private static readonly ConcurrentDictionary<Type, bool> Seen = new();

    public static void Check(DbConnection connection)
    {
        Type type = connection.GetType();
        if (Seen.ContainsKey(type))
            return;
        if (Other() is { } other)
            throw new InvalidOperationException(
                $"two copies of SQLite are in this process, Waypost's and {other}: they drop each"
                + " other's file locks and can corrupt the database. Let both use the system's:"
                + " refer to Waypost.Sqlite (or SQLitePCLRaw.bundle_sqlite3) and"
                + " Microsoft.Data.Sqlite.Core in place of Microsoft.Data.Sqlite");
        Seen[type] = true;
    }

    /// <summary>The file of another copy, if one is loaded.</summary>
    public static string? Other()
    {
        nint ours = Native.wpn_sqlite();
        using var process = Process.GetCurrentProcess();
        foreach (ProcessModule module in process.Modules)
        {
            using (module)
            {
                if (!Path.GetFileName(module.FileName).Contains("sqlite", StringComparison.OrdinalIgnoreCase)
                    || !NativeLibrary.TryLoad(module.FileName, out nint library))
                    continue;
                bool found = NativeLibrary.TryGetExport(library, "sqlite3_libversion", out nint theirs);
                NativeLibrary.Free(library); // it was loaded before
                if (found && theirs != ours)
                    return module.FileName;
            }
        }
        return null;
    }
}
