// SPDX-License-Identifier: Apache-2.0
// The demo's worker in .NET: demo_worker URL NAME TOPIC...
// Each handler writes what it saw and the acknowledgement in one transaction of its own. Runs until
// its standard input ends.
using System.Data.Common;
using Microsoft.Data.Sqlite;
using Npgsql;
using Waypost;

if (args.Length < 3)
{
    await Console.Error.WriteLineAsync("usage: demo_worker URL NAME TOPIC...");
    return 2;
}
(string url, string name, string[] topics) = (args[0], args[1], args[2..]);

WaypostSqlite.UseSystemLibrary();
using WaypostStore store = WaypostStore.Open(url);
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
    await using DbConnection db = Connect();
    await db.OpenAsync(token);
    await using DbTransaction transaction = await db.BeginTransactionAsync(token);
    await using DbCommand insert = db.CreateCommand();
    insert.Transaction = transaction;
    insert.CommandText = "INSERT INTO effects (order_id, worker, topic, payload) VALUES (@order, @worker, @topic, @payload)";
    Add(insert, "@order", delivery.CorrelationId!);
    Add(insert, "@worker", name);
    Add(insert, "@topic", delivery.Topic);
    Add(insert, "@payload", delivery.Payload);
    await insert.ExecuteNonQueryAsync(token);
    await delivery.CompleteAsync(transaction, token);
    await transaction.CommitAsync(token);
}

DbConnection Connect()
{
    if (url.StartsWith("sqlite:", StringComparison.Ordinal))
        return new SqliteConnection($"Data Source={url["sqlite:".Length..]};Default Timeout=10");
    var uri = new Uri(url);
    return new NpgsqlConnection($"Host={uri.Host};Port={uri.Port};Username={uri.UserInfo};Database={uri.AbsolutePath[1..]}");
}

static void Add(DbCommand command, string parameter, string value)
{
    DbParameter added = command.CreateParameter();
    (added.ParameterName, added.Value) = (parameter, value);
    command.Parameters.Add(added);
}
