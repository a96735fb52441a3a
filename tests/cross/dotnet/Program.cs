// SPDX-License-Identifier: Apache-2.0
// .NET's part of the cross-language test (../run.py says what each program does):
//   cross_dotnet produce URL FILE
//   cross_dotnet consume URL TOPIC COUNT FILE
using System.Data.Common;
using System.Text.Encodings.Web;
using System.Text.Json;
using Microsoft.Data.Sqlite;
using Npgsql;
using Waypost;

WaypostSqlite.UseSystemLibrary();
var json = new JsonSerializerOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
switch (args)
{
    case ["produce", string url, string path]:
        await ProduceAsync(url, path);
        return 0;
    case ["consume", string url, string topic, string count, string path]:
        await ConsumeAsync(url, topic, int.Parse(count), path);
        return 0;
    default:
        return 2;
}

static DbConnection Connect(string url)
{
    if (!url.StartsWith("postgresql:", StringComparison.Ordinal))
        return new SqliteConnection($"Data Source={url["sqlite:".Length..]};Default Timeout=30");
    var uri = new Uri(url);
    return new NpgsqlConnection(
        $"Host={uri.Host};Port={uri.Port};Username={uri.UserInfo};Database={uri.AbsolutePath[1..]}");
}

async Task ProduceAsync(string url, string path)
{
    using WaypostStore store = WaypostStore.Open(url);
    await using DbConnection db = Connect(url);
    await db.OpenAsync();
    await using DbTransaction transaction = await db.BeginTransactionAsync();
    var messages = new List<NewOutboxMessage>();
    foreach (string line in await File.ReadAllLinesAsync(path))
    {
        Row row = JsonSerializer.Deserialize<Row>(line)!;
        messages.Add(new NewOutboxMessage(row.topic, row.payload)
        {
            Headers = row.headers,
            CorrelationId = row.correlation_id,
            DueTimeUtc = row.due_us is { } us ? DateTimeOffset.UnixEpoch.AddTicks(us * 10) : null,
        });
    }
    await store.Outbox.EnqueueManyAsync(messages, transaction);
    await transaction.CommitAsync();
}

async Task ConsumeAsync(string url, string topic, int count, string path)
{
    using WaypostStore store = WaypostStore.Open(url);
    await using var file = new StreamWriter(path) { NewLine = "\n" };
    await using OutboxWorker worker = store.CreateWorker();
    var done = new TaskCompletionSource();
    var gate = new SemaphoreSlim(1);
    worker.Handle(topic, async (delivery, token) =>
    {
        var row = new Row(delivery.Topic, delivery.Payload, new(delivery.Headers), delivery.CorrelationId,
                          (delivery.DueTimeUtc - DateTimeOffset.UnixEpoch).Ticks / 10);
        await gate.WaitAsync(token);
        try
        {
            await file.WriteLineAsync(JsonSerializer.Serialize(row, json));
            if (--count == 0)
                done.SetResult();
        }
        finally
        {
            gate.Release();
        }
    });
    worker.Start();
    await done.Task.WaitAsync(TimeSpan.FromMinutes(2));
    await worker.StopAsync(TimeSpan.FromSeconds(10));
}

internal sealed record Row(string topic, string payload, Dictionary<string, string> headers,
                           string? correlation_id, long? due_us);
