// SPDX-License-Identifier: Apache-2.0
// A program whose Microsoft.Data.Sqlite brings a SQLite of its own: TwoCopies DATABASE.
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.Logging.Abstractions;
using Waypost;

using WaypostStore store = WaypostStore.Open($"sqlite:{args[0]}", deploy: true, NullLogger.Instance);
await using var connection = new SqliteConnection($"Data Source={args[0]}");
await connection.OpenAsync();
await using SqliteTransaction transaction = connection.BeginTransaction();
for (int n = 0; n < 2; n++)
{
    try
    {
        await store.Outbox.EnqueueAsync("a", "1", transaction);
        Console.WriteLine("taken");
    }
    catch (InvalidOperationException e)
    {
        Console.WriteLine($"refused: {e.Message}");
    }
}
