// SPDX-License-Identifier: Apache-2.0
// An order and its event in one transaction, one that is rolled back, and a handler in a host.
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Waypost;

WaypostSqlite.UseSystemLibrary(); // once, before the first SqliteConnection

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Services.AddSingleton<Handled>();
builder.Services
    .AddWaypost(options => (options.Url, options.Deploy) = ("sqlite:orders.db", true))
    .AddHandler<OrderPlaced>();
using IHost host = builder.Build();
await host.StartAsync();

await using (var db = new SqliteConnection("Data Source=orders.db"))
{
    await db.OpenAsync();
    await ExecuteAsync(db, null, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT)");
    IOutbox outbox = host.Services.GetRequiredService<IOutbox>();
    foreach ((string customer, bool commit) in new[] { ("nobody", false), ("Ada", true) })
    {
        await using SqliteTransaction transaction = db.BeginTransaction();
        await ExecuteAsync(db, transaction, $"INSERT INTO orders (customer) VALUES ('{customer}')");
        await outbox.EnqueueAsync("order.placed", $$"""{"customer": "{{customer}}"}""", transaction);
        if (commit)
            await transaction.CommitAsync();
    }
}

string payload = await host.Services.GetRequiredService<Handled>().First.Task.WaitAsync(TimeSpan.FromSeconds(30));
await host.StopAsync();
return payload == """{"customer": "Ada"}""" ? 0 : 1;

static async Task ExecuteAsync(SqliteConnection db, SqliteTransaction? transaction, string sql)
{
    await using SqliteCommand command = db.CreateCommand();
    command.CommandText = sql;
    command.Transaction = transaction;
    await command.ExecuteNonQueryAsync();
}

internal sealed class OrderPlaced(Handled handled) : IOutboxHandler
{
    public string Topic => "order.placed";

    public Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken)
    {
        Console.WriteLine($"handling {message.Topic} {message.Payload}");
        handled.First.TrySetResult(message.Payload);
        return Task.CompletedTask;
    }
}

internal sealed class Handled
{
    public TaskCompletionSource<string> First { get; } = new();
}
