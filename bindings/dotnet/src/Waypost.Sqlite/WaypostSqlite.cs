// SPDX-License-Identifier: Apache-2.0
using System.Reflection;
using System.Runtime.InteropServices;
using SQLitePCL;

namespace Waypost;

/// <summary>
/// Lets Microsoft.Data.Sqlite use the system's SQLite, as Waypost does. Two copies of SQLite in one
/// process would drop each other's file locks (sqlite.org/howtocorrupt.html, 2.2.1).
/// </summary>
public static class WaypostSqlite
{
    private static readonly Lazy<bool> Once = new(() =>
    {
        NativeLibrary.SetDllImportResolver(typeof(SQLite3Provider_sqlite3).Assembly, Resolve);
        raw.SetProvider(new SQLite3Provider_sqlite3());
        return true;
    });

    /// <summary>Call it once, before the first SqliteConnection is made.</summary>
    public static void UseSystemLibrary() => _ = Once.Value;

    /// <summary>By the name that is there without development packages.</summary>
    private static nint Resolve(string name, Assembly assembly, DllImportSearchPath? path) =>
        name == "sqlite3" && OperatingSystem.IsLinux()
            && NativeLibrary.TryLoad("libsqlite3.so.0", out nint library)
            ? library : 0;
}
