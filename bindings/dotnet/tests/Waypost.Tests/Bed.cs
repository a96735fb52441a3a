// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using System.Data.Common;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.Logging;
using MySqlConnector;
using Npgsql;

namespace Waypost.Tests;

/// <summary>What differs between engines, in one place.</summary>
public abstract partial class Engine
{
    public static readonly Engine Sqlite = new SqliteEngine();
    public static readonly Engine PostgreSql = new PostgreSqlEngine();
    public static readonly Engine MariaDb = new MariaDbEngine();
    public static readonly Engine SqlServer = new SqlServerEngine();

    /// <summary>A fresh database: its URL.</summary>
    public abstract string NewUrl(string folder);

    /// <summary>Let go of a database.</summary>
    public virtual void Drop(string url) { }

    /// <summary>A connection of the app's, open.</summary>
    public abstract DbConnection Connect(WaypostStore store);

    public abstract string CreateOrders { get; }

    public virtual string Begin => "BEGIN";

    /// <summary>What else stores on this engine's databases are opened with.</summary>
    public virtual void Configure(WaypostOptions options) { }

    private sealed class SqliteEngine : Engine
    {
        public override string NewUrl(string folder) =>
            $"sqlite:{Path.Combine(folder, $"{Guid.NewGuid():N}.db")}";

        public override DbConnection Connect(WaypostStore store)
        {
            var connection = new SqliteConnection($"Data Source={store.Location};Pooling=False");
            connection.Open();
            return connection;
        }

        public override string CreateOrders =>
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)";
    }

    private sealed class PostgreSqlEngine : Engine
    {
        /// <summary>The server that tools/with_servers.sh has started.</summary>
        private static string Server =>
            Environment.GetEnvironmentVariable("WAYPOST_TEST_POSTGRESQL")
            ?? throw new InvalidOperationException("WAYPOST_TEST_POSTGRESQL names no server");

        public static string ConnectionString(string url)
        {
            var uri = new Uri(url);
            return new NpgsqlConnectionStringBuilder
            {
                Host = uri.Host,
                Port = uri.Port,
                Username = uri.UserInfo,
                Database = uri.AbsolutePath[1..],
                Pooling = false,
            }.ConnectionString;
        }

        private static void OnServer(string url, string sql)
        {
            using var connection = new NpgsqlConnection(ConnectionString(url));
            connection.Open();
            Bed.Execute(connection, sql);
        }

        /// <summary>Databases take long to make: they are emptied and used again.</summary>
        private static readonly ConcurrentBag<string> Idle = [];

        public override string NewUrl(string folder)
        {
            if (Idle.TryTake(out string? url))
                return url;
            string name = $"net_{Guid.NewGuid():N}";
            OnServer(Server, $"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy");
            return new UriBuilder(Server) { Path = name }.Uri.ToString();
        }

        public override void Drop(string url)
        {
            OnServer(url, Empty.Value);
            Idle.Add(url);
        }

        private static readonly Lazy<string> Empty = new(() => File.ReadAllText(EmptyFile()));

        private static string EmptyFile([CallerFilePath] string here = "") => Path.Combine(
            Path.GetDirectoryName(here)!, "../../../../tests/support/empty_postgresql.sql");

        public override DbConnection Connect(WaypostStore store)
        {
            var connection = new NpgsqlConnection(ConnectionString(store.Location));
            connection.Open();
            return connection;
        }

        public override string CreateOrders =>
            "CREATE TABLE orders (id bigserial PRIMARY KEY, name text)";
    }

    private sealed class MariaDbEngine : Engine
    {
        private const string Tables = "information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'";

        /// <summary>Of what a deployment makes, so that a test which changed it is noticed.</summary>
        private const string Fingerprint =
            "SELECT CAST((SELECT COALESCE(SUM(CRC32(CONCAT(table_name, '.', column_name, column_type))), 0)"
            + " FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'orders')"
            + " + (SELECT COUNT(*) FROM mysql.proc WHERE db = DATABASE())" // by its key, not those of all databases
            + " + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()) AS SIGNED)";

        /// <summary>The server that tools/with_servers.sh has started: what unixODBC connects with.</summary>
        private static string Server =>
            Environment.GetEnvironmentVariable("WAYPOST_TEST_MARIADB")
            ?? throw new InvalidOperationException("WAYPOST_TEST_MARIADB names no server");

        /// <summary>Databases whose tables were made, which takes long: they are emptied and used again.</summary>
        private static readonly ConcurrentBag<string> Idle = [];
        private static readonly ConcurrentDictionary<string, long> Deployed = new();

        public static string ConnectionString(string url)
        {
            var given = url["odbc:".Length..].Split(';').Select(part => part.Split('=', 2)).ToDictionary(part => part[0], part => part[1]);
            return new MySqlConnectionStringBuilder
            {
                Server = given["Server"],
                Port = uint.Parse(given["Port"], CultureInfo.InvariantCulture),
                UserID = given["Uid"],
                Database = given.GetValueOrDefault("Database", ""),
                Pooling = false,
            }.ConnectionString;
        }

        private static MySqlConnection Open(string url)
        {
            var connection = new MySqlConnection(ConnectionString(url));
            connection.Open();
            return connection;
        }

        private static List<string> Column(MySqlConnection connection, string sql)
        {
            using MySqlCommand command = connection.CreateCommand();
            command.CommandText = sql;
            using MySqlDataReader reader = command.ExecuteReader();
            var values = new List<string>();
            while (reader.Read())
                values.Add(Convert.ToString(reader.GetValue(0), CultureInfo.InvariantCulture)!);
            return values;
        }

        public override string NewUrl(string folder)
        {
            if (Idle.TryTake(out string? url))
                return url;
            string name = $"net_{Guid.NewGuid():N}";
            using MySqlConnection connection = Open(Server);
            Bed.Execute(connection, $"CREATE DATABASE {name} CHARACTER SET utf8mb4");
            return $"{Server};Database={name}";
        }

        public override void Drop(string url)
        {
            for (int tries = 1; ; tries++)
            {
                try
                {
                    TidyUp(url);
                    return;
                }
                catch (MySqlException lost) when (lost.InnerException is IOException && tries < 5)
                {
                    // Seen once in some thousand tests while others made and dropped databases: the server hangs up.
                    Console.Error.WriteLine($"MariaDB hung up: {lost.Message}");
                }
            }
        }

        private static void TidyUp(string url)
        {
            using MySqlConnection connection = Open(url);
            long now = long.Parse(Column(connection, Fingerprint)[0], CultureInfo.InvariantCulture);
            if (Deployed.GetOrAdd(url, now) != now)
            {
                Bed.Execute(connection, $"DROP DATABASE IF EXISTS {connection.Database}");
                return;
            }
            foreach (string table in Column(connection, $"SELECT table_name FROM {Tables} AND table_name NOT LIKE '%migration'"))
                Bed.Execute(connection, table == "orders" ? "DROP TABLE IF EXISTS orders" : $"DELETE FROM `{table}`");
            Idle.Add(url);
        }

        public override DbConnection Connect(WaypostStore store) => Open($"odbc:{store.Location}");

        public override string CreateOrders => "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, name TEXT)";
    }

    /// <summary>The app's connection string for a store's database.</summary>
    public static string PostgreSqlConnectionString(string url) => PostgreSqlEngine.ConnectionString(url);

    /// <summary>The app's connection string for a store's database.</summary>
    public static string MariaDbConnectionString(string url) => MariaDbEngine.ConnectionString(url);

    [ModuleInitializer]
    internal static void UseOneSqlite() => WaypostSqlite.UseSystemLibrary();
}

/// <summary>A store on a manual clock, and the app's way to the same database.</summary>
public sealed class Bed : IDisposable
{
    public static readonly DateTimeOffset Now = new(2026, 3, 1, 12, 0, 0, TimeSpan.Zero);
    public static readonly TimeSpan Second = TimeSpan.FromSeconds(1);
    /// <summary>How long a condition may take before the test fails.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(180);

    private readonly string _folder = Directory.CreateTempSubdirectory("waypost-").FullName;
    private readonly List<IDisposable> _opened = [];

    public Bed(Engine engine)
    {
        Engine = engine;
        Url = engine.NewUrl(_folder);
        Store = Open(options => options.Deploy = true);
        Execute(engine.CreateOrders);
    }

    public Engine Engine { get; }
    public string Url { get; }
    public string Folder => _folder;
    public ManualClock Clock { get; } = new(Now);
    public WaypostStore Store { get; }
    public IOutbox Outbox => Store.Outbox;

    /// <summary>A further store on the same database.</summary>
    public WaypostStore Open(
        Action<WaypostOptions>? configure = null, ILogger? logger = null, ManualClock? clock = null)
    {
        var options = new WaypostOptions { Url = Url };
        Engine.Configure(options);
        configure?.Invoke(options);
        return Keep(WaypostStore.Open(options, logger ?? Quiet.Instance, clock ?? Clock));
    }

    /// <summary>A store on the system's clock, that polls fast and retries late.</summary>
    public WaypostStore Live(Action<OutboxWorkerOptions>? configure = null, ILogger? logger = null)
    {
        var options = new WaypostOptions { Url = Url };
        Engine.Configure(options);
        options.Worker.PollMin = TimeSpan.FromMilliseconds(10);
        options.Worker.PollMax = TimeSpan.FromMilliseconds(50);
        options.Worker.BackoffBase = options.Worker.BackoffMax = TimeSpan.FromSeconds(1000);
        configure?.Invoke(options.Worker);
        return Keep(WaypostStore.Open(options, logger ?? Quiet.Instance));
    }

    public T Keep<T>(T opened) where T : IDisposable
    {
        _opened.Add(opened);
        return opened;
    }

    public DbConnection Connect() => Keep(Engine.Connect(Store));

    public void Execute(string sql)
    {
        using DbConnection connection = Engine.Connect(Store);
        Execute(connection, sql);
    }

    public static void Execute(DbConnection connection, string sql, DbTransaction? transaction = null)
    {
        using DbCommand command = connection.CreateCommand();
        command.CommandText = sql;
        if (transaction is not null)
            command.Transaction = transaction;
        command.ExecuteNonQuery();
    }

    public static void InsertOrder(DbConnection connection, DbTransaction? transaction = null) =>
        Execute(connection, "INSERT INTO orders (name) VALUES ('x')", transaction);

    public async Task<long> OrdersAsync()
    {
        await using DbConnection connection = Engine.Connect(Store);
        await using DbCommand command = connection.CreateCommand();
        command.CommandText = "SELECT count(*) FROM orders";
        return Convert.ToInt64(await command.ExecuteScalarAsync(), null);
    }

    public Task<IReadOnlyList<OutboxMessage>> ClaimAsync(
        TimeSpan? lease = null, int batch = 100, IEnumerable<string>? topics = null,
        Guid? owner = null) =>
        Outbox.ClaimAsync(owner ?? WaypostStore.NewId(), lease ?? 30 * Second, batch, topics);

    public async Task<string[]> ClaimPayloadsAsync(int batch = 100) =>
        (await ClaimAsync(batch: batch)).Select(message => message.Payload).ToArray();

    /// <summary>The topics of what is committed and not finished.</summary>
    public async Task<string[]> TopicsAsync() =>
        (await Outbox.GetStatsAsync(finished: false)).Topics.Keys.Order(StringComparer.Ordinal).ToArray();

    /// <summary>How many messages are committed.</summary>
    public async Task<long> CountAsync()
    {
        TopicStats total = (await Outbox.GetStatsAsync()).Total;
        return total.Ready + total.Scheduled + total.InProgress + total.Blocked + total.Done + total.Failed;
    }

    public async Task<OutboxMessageStatus> StatusAsync(Guid id) => (await Outbox.GetAsync(id)).Status;

    /// <summary>Wait for a condition.</summary>
    public static async Task UntilAsync(
        Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string? what = null)
    {
        var watch = Stopwatch.StartNew();
        while (!condition())
        {
            Assert.True(watch.Elapsed < Patience, $"{what} did not come true");
            await Task.Delay(1);
        }
    }

    public static async Task UntilAsync(
        Func<Task<bool>> condition, [CallerArgumentExpression(nameof(condition))] string? what = null)
    {
        var watch = Stopwatch.StartNew();
        while (!await condition())
        {
            Assert.True(watch.Elapsed < Patience, $"{what} did not come true");
            await Task.Delay(1);
        }
    }

    public static void Until(Func<bool> condition) =>
        Assert.True(SpinWait.SpinUntil(condition, Patience), "the condition did not come true");

    public void Dispose()
    {
        for (int i = _opened.Count - 1; i >= 0; i--)
            _opened[i].Dispose();
        Clock.Dispose();
        Engine.Drop(Url);
        Directory.Delete(_folder, recursive: true);
    }
}

/// <summary>Keeps what is logged, for tests that look.</summary>
public sealed class Records : ILogger
{
    private readonly List<(LogLevel Level, string Text, Exception? Error, object? State)> _all = [];

    public (LogLevel Level, string Text, Exception? Error, object? State)[] All
    {
        get
        {
            lock (_all)
                return _all.ToArray();
        }
    }

    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;
    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        lock (_all)
            _all.Add((logLevel, formatter(state, exception), exception, state));
    }
}

public sealed class Quiet : ILogger
{
    public static readonly Quiet Instance = new();
    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;
    public bool IsEnabled(LogLevel logLevel) => false;
    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
    }
}
