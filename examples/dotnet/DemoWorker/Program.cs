// SPDX-License-Identifier: Apache-2.0
// The demo's worker in .NET: demo_worker DATABASE NAME TOPIC...
// Each handler writes what it saw and the acknowledgement in one transaction of its own. Runs until
// its standard input ends.
using Microsoft.Data.Sqlite;
using Waypost;

if (args.Length < 3)
{
    await Console.Error.WriteLineAsync("usage: demo_worker DATABASE NAME TOPIC...");
    return 2;
}
(string path, string name, string[] topics) = (args[0], args[1], args[2..]);

WaypostSqlite.UseSystemLibrary();
using WaypostStore store = WaypostStore.Open($"sqlite:{path}");
await using OutboxWorker worker = store.CreateWorker(new() { Name = name });
foreach (string topic in topics)
    worker.Handle(topic, HandleAsync);
worker.Start();
while (await Console.In.ReadLineAsync() is not null)
    continue;
await worker.StopAsync(TimeSpan.FromSeconds(10));
return 0;

// Effect and acknowledgement commit together, or not at all.
async Task HandleAsync(OutboxDelivery delivery, CancellationToken token)
{
    await using var db = new SqliteConnection($"Data Source={path};Default Timeout=10");
    await db.OpenAsync(token);
    await using SqliteTransaction transaction = db.BeginTransaction();
    await using SqliteCommand insert = db.CreateCommand();
    insert.Transaction = transaction;
    insert.CommandText = "INSERT INTO effects (order_id, worker, topic, payload) VALUES (@order, @worker, @topic, @payload)";
    insert.Parameters.AddWithValue("@order", delivery.CorrelationId);
    insert.Parameters.AddWithValue("@worker", name);
    insert.Parameters.AddWithValue("@topic", delivery.Topic);
    insert.Parameters.AddWithValue("@payload", delivery.Payload);
    await insert.ExecuteNonQueryAsync(token);
    await delivery.CompleteAsync(transaction, token);
    await transaction.CommitAsync(token);
}
