// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Data.Sqlite;
using Waypost;

namespace Webhook;

/// <summary>
/// Sends the receiver every webhook of @octokit/webhooks-examples (in FOLDER/node_modules): each three times
/// at once, all of them again afterwards, and some that are forged or malformed. Then each delivery must
/// have been handled once, and nothing else.
/// </summary>
internal sealed class Check(WebApplication app, HttpClient client)
{
    private const int AtOnce = 3;
    private static readonly byte[] Key = "a secret of the check's"u8.ToArray();
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(120);

    private sealed record Sample(string Delivery, string Event, byte[] Body);

    public static async Task<int> RunAsync(string folder)
    {
        List<Sample> samples = Read(folder);
        string scratch = Directory.CreateTempSubdirectory("webhook-").FullName;
        try
        {
            WebApplicationBuilder builder = WebApplication.CreateBuilder(
                ["--database", Path.Combine(scratch, "check.db"), "--urls", "http://127.0.0.1:0",
                 "--secret", Encoding.UTF8.GetString(Key)]);
            builder.Logging.SetMinimumLevel(LogLevel.Error);
            await using WebApplication app = Receiver.Build(builder);
            await app.StartAsync();
            using var client = new HttpClient { BaseAddress = new Uri(Address(app)) };
            List<string> faults = await new Check(app, client).FaultsAsync(samples);
            await app.StopAsync();
            faults.ForEach(Console.WriteLine);
            Console.WriteLine(
                $"webhook: {samples.Count} deliveries, {samples.Count * (AtOnce + 1)} requests, {faults.Count} faults");
            return faults.Count == 0 ? 0 : 1;
        }
        finally
        {
            SqliteConnection.ClearAllPools();
            Directory.Delete(scratch, recursive: true);
        }
    }

    private static string Address(WebApplication app) =>
        app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.First();

    private static List<Sample> Read(string folder)
    {
        var samples = new List<Sample>();
        string index = Path.Combine(folder, "node_modules/@octokit/webhooks-examples/api.github.com/index.json");
        using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(index));
        foreach (JsonElement kind in document.RootElement.EnumerateArray())
            foreach (JsonElement example in kind.GetProperty("examples").EnumerateArray())
                samples.Add(new Sample(
                    Guid.NewGuid().ToString(), kind.GetProperty("name").GetString()!,
                    Encoding.UTF8.GetBytes(example.GetRawText())));
        return samples;
    }

    private async Task<HttpStatusCode> SendAsync(
        byte[] body, string? signature, string? delivery, string? name = "push")
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, "/github") { Content = new ByteArrayContent(body) };
        foreach ((string header, string? value) in new[]
            { ("X-Hub-Signature-256", signature), ("X-GitHub-Delivery", delivery), ("X-GitHub-Event", name) })
            if (value is not null)
                request.Headers.Add(header, value);
        using HttpResponseMessage response = await client.SendAsync(request);
        return response.StatusCode;
    }

    private Task<HttpStatusCode> DeliverAsync(Sample sample) =>
        SendAsync(sample.Body, Receiver.Signature(sample.Body, Key), sample.Delivery, sample.Event);

    private async Task<List<string>> FaultsAsync(List<Sample> samples)
    {
        var faults = new List<string>();
        void Expect<T>(string what, T want, T got)
        {
            if (!EqualityComparer<T>.Default.Equals(want, got))
                faults.Add($"{what}: {got}, not {want}");
        }

        foreach (Sample sample in samples)
            foreach (HttpStatusCode status in await Task.WhenAll(
                Enumerable.Range(0, AtOnce).Select(_ => DeliverAsync(sample))))
                Expect("delivered", HttpStatusCode.OK, status);
        foreach (Sample sample in samples)
            Expect("delivered again", HttpStatusCode.OK, await DeliverAsync(sample));

        byte[] body = samples[0].Body, other = "{\"forged\": true}"u8.ToArray(), broken = "{\"broken\""u8.ToArray();
        string signature = Receiver.Signature(body, Key);
        Expect("without a signature", HttpStatusCode.Unauthorized, await SendAsync(body, null, "x1"));
        Expect("signed by another", HttpStatusCode.Unauthorized, await SendAsync(body, Receiver.Signature(body, [1]), "x2"));
        Expect("another body", HttpStatusCode.Unauthorized, await SendAsync(other, signature, "x3"));
        Expect("cut signature", HttpStatusCode.Unauthorized, await SendAsync(body, signature[..^1], "x4"));
        Expect("broken JSON", HttpStatusCode.BadRequest, await SendAsync(broken, Receiver.Signature(broken, Key), "x5"));
        byte[] latin = [.. "{\"name\": \""u8, 0xFC, .. "\"}"u8];
        Expect("no UTF-8", HttpStatusCode.BadRequest, await SendAsync(latin, Receiver.Signature(latin, Key), "x7"));
        Expect("no delivery id", HttpStatusCode.BadRequest, await SendAsync(body, signature, null));
        Expect("no event", HttpStatusCode.BadRequest, await SendAsync(body, signature, "x6", null));

        await UntilAsync(stats => stats.Done == samples.Count);
        // Another content under a known id is no new delivery, but is noticed.
        Expect("same id", HttpStatusCode.OK, await SendAsync(other, Receiver.Signature(other, Key), samples[0].Delivery));
        IInbox inbox = app.Services.GetRequiredService<IInbox>();
        Expect("mismatches", 1, inbox.Counters.Mismatches);
        Expect("deliveries", (samples.Count, samples.Count, samples.Sum(sample => (long)sample.Body.Length)), await EventsAsync());
        TopicStats total = (await inbox.GetStatsAsync()).Total;
        Expect("unfinished", (0, 0, 0), (total.Ready + total.Scheduled, total.InProgress, total.Failed));
        return faults;
    }

    /// <summary>Rows, different deliveries, bytes.</summary>
    private async Task<(int, int, long)> EventsAsync()
    {
        await using SqliteConnection connection = await app.Services.GetRequiredService<Database>().OpenAsync();
        await using SqliteCommand command = connection.CreateCommand();
        command.CommandText = "SELECT count(*), count(DISTINCT delivery), sum(bytes) FROM events";
        await using SqliteDataReader reader = await command.ExecuteReaderAsync();
        await reader.ReadAsync();
        return (reader.GetInt32(0), reader.GetInt32(1), reader.GetInt64(2));
    }

    private async Task UntilAsync(Func<TopicStats, bool> condition)
    {
        IInbox inbox = app.Services.GetRequiredService<IInbox>();
        for (DateTime limit = DateTime.UtcNow + Patience; DateTime.UtcNow < limit; await Task.Delay(10))
            if (condition((await inbox.GetStatsAsync()).Total))
                return;
    }
}
