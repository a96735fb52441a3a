// SPDX-License-Identifier: Apache-2.0
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Unicode;
using Microsoft.Data.Sqlite;
using Waypost;

namespace Webhook;

/// <summary>The web application: POST /github.</summary>
internal static class Receiver
{
    private const int LargestBody = 25 * 1024 * 1024; // GitHub's own limit

    public static WebApplication Build(WebApplicationBuilder builder)
    {
        WaypostSqlite.UseSystemLibrary(); // once, before the first SqliteConnection
        string file = builder.Configuration["database"] ?? "webhooks.db";
        string? secret = builder.Configuration["secret"];
        if (string.IsNullOrEmpty(secret))
            throw new ArgumentException("--secret is missing");
        byte[] key = Encoding.UTF8.GetBytes(secret);
        builder.WebHost.ConfigureKestrel(options => options.Limits.MaxRequestBodySize = LargestBody);
        builder.Services.AddSingleton(new Database(file));
        builder.Services
            .AddWaypost(options => (options.Url, options.Deploy) = ($"sqlite:{file}", true))
            .AddInboxHandler<Delivered>();
        WebApplication app = builder.Build();
        app.MapPost("/github", (HttpRequest request, IInbox inbox) => ReceiveAsync(request, inbox, key));
        return app;
    }

    private static async Task<IResult> ReceiveAsync(HttpRequest request, IInbox inbox, byte[] key)
    {
        byte[] body = await ReadAsync(request);
        if (!IsSigned(body, request.Headers["X-Hub-Signature-256"], key))
            return Results.StatusCode(StatusCodes.Status401Unauthorized);
        string? delivery = request.Headers["X-GitHub-Delivery"], name = request.Headers["X-GitHub-Event"];
        if (delivery is not { Length: > 0 and <= 255 } || name is not { Length: > 0 } || !IsText(body) || !IsObject(body))
            return Results.BadRequest("not a webhook of GitHub's");
        try
        {
            await inbox.EnqueueAsync(
                new InboxKey(delivery, "github") { Hash = SHA256.HashData(body) },
                new NewOutboxMessage(Delivered.AnyEvent, body)
                {
                    Headers = new Dictionary<string, string> { ["event"] = name },
                });
        }
        catch (UnavailableException)
        {
            // GitHub shows it as failed, and it can be delivered again.
            return Results.StatusCode(StatusCodes.Status503ServiceUnavailable);
        }
        return Results.Ok(); // it is stored: GitHub need not send it again
    }

    private static async Task<byte[]> ReadAsync(HttpRequest request)
    {
        using var body = new MemoryStream();
        await request.Body.CopyToAsync(body, request.HttpContext.RequestAborted);
        return body.ToArray();
    }

    /// <summary>Whether the header is "sha256=" and the HMAC of the body's very bytes.</summary>
    public static bool IsSigned(byte[] body, string? header, byte[] key) =>
        header is not null
        && CryptographicOperations.FixedTimeEquals(
            Encoding.ASCII.GetBytes(Signature(body, key)), Encoding.ASCII.GetBytes(header));

    public static string Signature(byte[] body, byte[] key) =>
        "sha256=" + Convert.ToHexStringLower(HMACSHA256.HashData(key, body));

    private static bool IsObject(byte[] body)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(body);
            return document.RootElement.ValueKind == JsonValueKind.Object;
        }
        catch (JsonException)
        {
            return false;
        }
    }

    /// <summary>The reader looks into no text: one may hold bytes that are no UTF-8.</summary>
    private static bool IsText(byte[] body) => Utf8.IsValid(body);
}

/// <summary>The app's own tables, in the same file as Waypost's.</summary>
internal sealed class Database(string file)
{
    private readonly string _connection = $"Data Source={file}";

    public async Task<SqliteConnection> OpenAsync()
    {
        var connection = new SqliteConnection(_connection);
        await connection.OpenAsync();
        await using SqliteCommand command = connection.CreateCommand();
        command.CommandText = "CREATE TABLE IF NOT EXISTS events (delivery TEXT, event TEXT, action TEXT, bytes INTEGER)";
        await command.ExecuteNonQueryAsync();
        return connection;
    }
}

/// <summary>What the app does with a delivery: a row, committed together with "it is done".</summary>
internal sealed class Delivered(Database database) : IInboxHandler
{
    public const string AnyEvent = "github";

    public string Topic => AnyEvent;

    public async Task HandleAsync(InboxMessage message, CancellationToken cancellationToken)
    {
        using JsonDocument document = JsonDocument.Parse(message.Utf8Payload);
        string? action = document.RootElement.TryGetProperty("action", out JsonElement a) ? a.ToString() : null;
        await using SqliteConnection connection = await database.OpenAsync();
        await using SqliteTransaction transaction = connection.BeginTransaction();
        await using SqliteCommand command = connection.CreateCommand();
        command.Transaction = transaction;
        command.CommandText = "INSERT INTO events VALUES (@delivery, @event, @action, @bytes)";
        command.Parameters.AddWithValue("@delivery", message.MessageId);
        command.Parameters.AddWithValue("@event", message.Headers["event"]);
        command.Parameters.AddWithValue("@action", (object?)action ?? DBNull.Value);
        command.Parameters.AddWithValue("@bytes", message.Utf8Payload.Length);
        await command.ExecuteNonQueryAsync(cancellationToken);
        await message.CompleteAsync(transaction, cancellationToken);
        await transaction.CommitAsync(cancellationToken);
    }
}
