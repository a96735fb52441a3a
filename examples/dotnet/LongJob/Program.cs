// SPDX-License-Identifier: Apache-2.0
// A long job that tells how far it is, is cancelled in the middle, and goes on from there in its next run. How far
// it is stands in a table of the app's, which a page can show; the run's output keeps the last of it.
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Waypost;

WaypostSqlite.UseSystemLibrary(); // once, before the first SqliteConnection

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Services.AddSingleton<Progress>();
builder.Services
    .AddWaypost(options =>
    {
        (options.Url, options.Deploy) = ("sqlite:jobs.db", true);
        options.Worker.Reap = TimeSpan.FromMilliseconds(100); // how soon a run hears that it is to stop
    })
    .AddJobHandler<Reindex>();
using IHost host = builder.Build();
await host.StartAsync();
ISchedulerClient scheduler = host.Services.GetRequiredService<ISchedulerClient>();
Progress progress = host.Services.GetRequiredService<Progress>();

Guid first = await scheduler.TriggerJobAsync("reindex"); // the schedule would have it run on Sunday
await UntilAsync(async () => await progress.ReadAsync() == Reindex.Stuck - 1);
Console.WriteLine($"part {Reindex.Stuck} takes for ever: cancelling");
await scheduler.CancelJobRunAsync(first);
JobRun cancelled = await EndAsync(first);

Guid second = await scheduler.TriggerJobAsync("reindex");
JobRun done = await EndAsync(second);
await host.StopAsync();
return (cancelled.Status, done.Status, done.Output, Reindex.Handled)
    == (JobRunStatus.Cancelled, JobRunStatus.Succeeded, $"{Reindex.Parts} of {Reindex.Parts}", Reindex.Parts) ? 0 : 1;

async Task<JobRun> EndAsync(Guid id)
{
    await UntilAsync(async () => (await scheduler.GetJobRunAsync(id)).EndedUtc is not null);
    JobRun run = await scheduler.GetJobRunAsync(id);
    Console.WriteLine($"run {run.Status} at {run.Output}, {run.Attempt} attempts failed");
    return run;
}

static async Task UntilAsync(Func<Task<bool>> condition)
{
    using var patience = new CancellationTokenSource(TimeSpan.FromSeconds(60));
    while (!await condition())
        await Task.Delay(20, patience.Token);
}

// One at a time (JobOverlap.Queue, the default), for at most two hours.
[Recurring("0 4 * * SUN", Name = "reindex", TimeZone = "Europe/Berlin", TimeoutSeconds = 7200)]
internal sealed class Reindex(Progress progress) : IJobHandler
{
    public const int Parts = 10, Stuck = 4;

    public static int Handled { get; private set; }

    public string Topic => "reindex";

    public async Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
    {
        int part = await progress.ReadAsync();
        Console.WriteLine(part == 0 ? "from the beginning" : $"on from part {part + 1}");
        for (bool again = part > 0; part < Parts; again = false)
        {
            run.SetOutput($"{part} of {Parts}");
            if (part + 1 == Stuck && !again)
                await Task.Delay(Timeout.Infinite, cancellationToken); // throws when the run is cancelled
            Handled++; // here it would do some of the work
            await progress.WriteAsync(++part);
        }
        return $"{part} of {Parts}";
    }
}

/// <summary>How many parts are done.</summary>
internal sealed class Progress
{
    public Progress() => _ = RunAsync("CREATE TABLE IF NOT EXISTS progress (parts INTEGER)").Result;

    public async Task<int> ReadAsync() =>
        Convert.ToInt32(await RunAsync("SELECT coalesce(max(parts), 0) FROM progress"), null);

    public async Task WriteAsync(int parts) => await RunAsync($"INSERT INTO progress VALUES ({parts})");

    private static async Task<object?> RunAsync(string sql)
    {
        await using var db = new SqliteConnection("Data Source=jobs.db;Default Timeout=60");
        await db.OpenAsync();
        await using SqliteCommand command = db.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }
}
