// SPDX-License-Identifier: Apache-2.0
// The packages in a project that has nothing else, and the programs that use the binding.
using System.Diagnostics;
using System.IO.Compression;
using System.Reflection;
using System.Runtime.CompilerServices;
using Microsoft.Data.Sqlite;

namespace Waypost.Tests;

public sealed class PackageTests : IDisposable
{
    private static readonly string Root = Path.GetFullPath(Path.Combine(Here(), "../../../.."));
    private static readonly string Configuration =
        typeof(PackageTests).Assembly.GetCustomAttribute<AssemblyConfigurationAttribute>()!.Configuration;

    private readonly string _folder = Directory.CreateTempSubdirectory("waypost package ").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static string Here([CallerFilePath] string path = "") => Path.GetDirectoryName(path)!;

    private const string Project = """
        <Project Sdk="Microsoft.NET.Sdk">
          <PropertyGroup>
            <OutputType>Exe</OutputType>
            <TargetFramework>net10.0</TargetFramework>
            <Nullable>enable</Nullable>
            <ImplicitUsings>enable</ImplicitUsings>
          </PropertyGroup>
          <ItemGroup>
            <PackageReference Include="Waypost" Version="VERSION" />
            <PackageReference Include="Waypost.Sqlite" Version="VERSION" />
          </ItemGroup>
        </Project>
        """;

    // The packages come from the folder; what they need, from the caches and sources that are there.
    private const string Sources = """
        <configuration>
          <config><add key="globalPackagesFolder" value="PACKAGES" /></config>
          <packageSources><add key="here" value="HERE" /></packageSources>
          <fallbackPackageFolders><add key="cache" value="CACHE" /></fallbackPackageFolders>
        </configuration>
        """;

    private const string Program = """
        using Microsoft.Data.Sqlite;
        using Waypost;

        WaypostSqlite.UseSystemLibrary();
        using WaypostStore store = WaypostStore.Open("sqlite:app.db", deploy: true);
        using var connection = new SqliteConnection($"Data Source={store.Location}");
        connection.Open();
        using (SqliteTransaction transaction = connection.BeginTransaction())
        {
            await store.Outbox.EnqueueAsync("a", "1", transaction);
            transaction.Commit();
        }
        await using OutboxWorker worker = store.CreateWorker();
        worker.Handle("a", (delivery, _) =>
        {
            Console.WriteLine($"handled {delivery.Payload}");
            return Task.CompletedTask;
        });
        await worker.DrainAsync();
        """;

    private static string Run(string folder, string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = folder,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (string name in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.Ordinal)).ToArray())
            start.Environment.Remove(name); // those of the test host
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        using Process process = Process.Start(start)!;
        Task<string> error = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.True(process.ExitCode == 0, $"{program} {string.Join(' ', arguments)}:\n{output}\n{error.Result}");
        return output;
    }

    // proves: PKG-001
    [Fact]
    public void Packages_install_into_an_empty_project_and_run()
    {
        string packages = Path.Combine(_folder, "packages"), app = Path.Combine(_folder, "app");
        foreach (string name in new[] { "Waypost", "Waypost.Sqlite" })
            Run(Root, "dotnet", "pack", $"bindings/dotnet/src/{name}", "-c", Configuration, "--no-build", "-o", packages, "--nologo");
        string version = Path.GetFileNameWithoutExtension(Directory.GetFiles(packages, "Waypost.Sqlite.*.nupkg").Single())["Waypost.Sqlite.".Length..];
        using (ZipArchive package = ZipFile.OpenRead(Path.Combine(packages, $"Waypost.{version}.nupkg")))
        {
            string[] files = package.Entries.Select(entry => entry.FullName).ToArray();
            Assert.Contains("runtimes/linux-x64/native/libwaypost_net.so", files);
            Assert.Contains("lib/net8.0/Waypost.dll", files);
            Assert.Contains("lib/net8.0/Waypost.xml", files);
            Assert.Contains("README.md", files);
            Assert.Single(files, file => file.EndsWith(".so", StringComparison.Ordinal));
        }

        Directory.CreateDirectory(app);
        string cache = Environment.GetEnvironmentVariable("NUGET_PACKAGES")
            ?? Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages");
        File.WriteAllText(Path.Combine(app, "nuget.config"), Sources
            .Replace("PACKAGES", Path.Combine(_folder, "installed")).Replace("HERE", packages).Replace("CACHE", cache));
        File.WriteAllText(Path.Combine(app, "app.csproj"), Project.Replace("VERSION", version));
        File.WriteAllText(Path.Combine(app, "Program.cs"), Program);
        Run(app, "dotnet", "build", "-o", "out", "--nologo");
        Assert.Equal("handled 1\n", Run(app, "dotnet", "out/app.dll"));
        Assert.True(File.Exists(Path.Combine(app, "out/runtimes/linux-x64/native/libwaypost_net.so")));
    }

    private static string Built(string name, string file) =>
        Path.Combine(Root, "build/dotnet/artifacts/bin", name, Configuration.ToLowerInvariant(), file);

    // proves: BND-001
    [Fact]
    public void Example_runs_to_its_end()
    {
        string output = Run(_folder, "dotnet", Built("Outbox", "Outbox.dll"));
        Assert.Contains("handling order.placed {\"customer\": \"Ada\"}", output);
        Assert.DoesNotContain("nobody", output);
    }

    // proves: JOB-003, JOB-008, BND-001
    [Fact]
    public void Long_job_tells_how_far_it_is_is_cancelled_and_goes_on_from_there()
    {
        string output = Run(_folder, "dotnet", Built("LongJob", "LongJob.dll"));
        string[] shown = ["from the beginning", "part 4 takes for ever: cancelling", "run Cancelled at 3 of 10,", "on from part 4", "run Succeeded at 10 of 10, 0 attempts failed"];
        int at = 0;
        foreach (string line in shown)
        {
            at = output.IndexOf(line, at, StringComparison.Ordinal);
            Assert.True(at >= 0, $"\"{line}\" is not where it belongs in:\n{output}");
        }
    }

    /// <summary>Real documents, which tools/dotnet.sh fetches.</summary>
    // proves: IBX-002, IBX-006, IBX-072, BND-001
    [Fact]
    public void Webhooks_that_come_again_and_at_once_are_handled_once_and_forged_ones_never()
    {
        string documents = Path.Combine(Root, "build/demo");
        string output = Run(_folder, "dotnet", Built("Webhook", "Webhook.dll"), "--check", documents);
        Assert.Matches("webhook: [1-9][0-9]+ deliveries, [0-9]+ requests, 0 faults\n$", output);
    }

    // proves: OBX-113, BND-001
    [Fact]
    public async Task Demo_worker_writes_effects_with_its_acknowledgements()
    {
        string path = Path.Combine(_folder, "shop.db");
        using WaypostStore store = WaypostStore.Open($"sqlite:{path}", deploy: true, Quiet.Instance);
        await using var db = new SqliteConnection($"Data Source={path};Pooling=False");
        await db.OpenAsync();
        Bed.Execute(db, "CREATE TABLE effects (order_id TEXT, worker TEXT, topic TEXT, payload TEXT)");
        for (int n = 0; n < 20; n++)
            await store.Outbox.EnqueueAsync("order.placed", $"{n}", correlationId: $"order {n}");
        using Process worker = Process.Start(new ProcessStartInfo("dotnet", [Built("DemoWorker", "demo_worker.dll"), $"sqlite:{path}", "net", "order.placed"])
        {
            RedirectStandardInput = true,
        })!;
        await Bed.UntilAsync(async () => (await store.Outbox.GetStatsAsync()).Total.Done == 20);
        worker.StandardInput.Close();
        await worker.WaitForExitAsync().WaitAsync(Bed.Patience);
        Assert.Equal(0, worker.ExitCode);
        await using SqliteCommand count = db.CreateCommand();
        count.CommandText = "SELECT count(*), count(DISTINCT order_id), min(worker) FROM effects";
        await using SqliteDataReader row = await count.ExecuteReaderAsync();
        Assert.True(row.Read());
        Assert.Equal((20L, 20L, "net"), (row.GetInt64(0), row.GetInt64(1), row.GetString(2)));
    }

    [Fact]
    public void Second_copy_of_SQLite_is_refused()
    {
        string output = Run(_folder, "dotnet", Built("TwoCopies", "TwoCopies.dll"), Path.Combine(_folder, "app.db"));
        string[] lines = output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(2, lines.Length);
        Assert.All(lines, line => Assert.StartsWith("refused: two copies of SQLite", line));
        Assert.All(lines, line => Assert.Contains("libe_sqlite3.so", line));
    }

    // proves: OBX-116
    [Theory]
    [InlineData("return")]
    [InlineData("exit")]
    [InlineData("exit in handler")]
    [InlineData("throw")]
    public async Task Process_that_ends_without_a_stop_ends_well_and_loses_nothing(string how)
    {
        string path = Path.Combine(_folder, "app.db");
        using WaypostStore store = WaypostStore.Open($"sqlite:{path}", deploy: true, Quiet.Instance);
        await store.Outbox.EnqueueManyAsync(Enumerable.Range(0, 200).Select(n => new NewOutboxMessage("a", $"{n}")));
        using Process process = Process.Start(new ProcessStartInfo("dotnet", [Built("EndsEarly", "EndsEarly.dll"), $"sqlite:{path}", how])
        {
            RedirectStandardError = true,
        })!;
        string error = await process.StandardError.ReadToEndAsync().WaitAsync(Bed.Patience);
        await process.WaitForExitAsync().WaitAsync(Bed.Patience);
        int expected = how switch { "throw" => 134, "return" => 0, _ => 3 };
        Assert.True(process.ExitCode == expected, $"{process.ExitCode}: {error}");
        TopicStats total = (await store.Outbox.GetStatsAsync()).Total;
        Assert.Equal(200, total.Ready + total.Scheduled + total.InProgress + total.Done);
        if (how != "throw") // unstarted work went back at once
            Assert.True(total.InProgress <= 16, $"{total}");
    }

    // proves: JOB-009, JOB-015
    [Fact]
    public async Task Runs_of_a_process_that_is_killed_are_retried_once_and_the_others_never()
    {
        string path = Path.Combine(_folder, "app.db");
        using WaypostStore store = WaypostStore.Open($"sqlite:{path}", deploy: true, Quiet.Instance);
        await store.Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("k", "k") { Cron = "@yearly", Overlap = JobOverlap.Allow, MaxAttempts = 3 });
        var runs = new HashSet<Guid>();
        for (int n = 0; n < 4; n++)
            runs.Add(await store.Scheduler.TriggerJobAsync("k"));
        using Process process = Process.Start(new ProcessStartInfo(
            "dotnet", [Built("EndsEarly", "EndsEarly.dll"), $"sqlite:{path}", "killed in runs"])
        {
            RedirectStandardOutput = true,
        })!;
        var begun = new HashSet<Guid>();
        while (begun.Count < 2)
            begun.Add(Guid.Parse((await process.StandardOutput.ReadLineAsync().WaitAsync(Bed.Patience))!));
        process.Kill();
        await process.WaitForExitAsync().WaitAsync(Bed.Patience);
        var handled = new System.Collections.Concurrent.ConcurrentQueue<(Guid, long)>();
        using OutboxWorker worker = store.CreateWorker(
            new OutboxWorkerOptions { BackoffBase = TimeSpan.FromMilliseconds(1), Reap = TimeSpan.FromMilliseconds(100) });
        worker.Handle("k", (run, _) =>
        {
            handled.Enqueue((run.Id, run.Attempt));
            return Task.CompletedTask;
        }, queue: WaypostQueue.Job);
        worker.Start();
        await Bed.UntilAsync(() => handled.Count == 4);
        await worker.StopAsync(Bed.Patience);
        Assert.Equal(runs.Select(id => (id, begun.Contains(id) ? 1L : 0L)).Order(), handled.Order());
        foreach (Guid id in runs)
            Assert.Equal((JobRunStatus.Succeeded, begun.Contains(id) ? 1 : 0),
                         await store.Scheduler.GetJobRunAsync(id) is { } run ? (run.Status, run.Attempt) : default);
    }
}
