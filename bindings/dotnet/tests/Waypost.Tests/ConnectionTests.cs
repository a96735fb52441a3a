// SPDX-License-Identifier: Apache-2.0
// Enqueue on the connections that apps have.
using System.Data;
using System.Data.Common;
using System.Data.Odbc;
using System.Diagnostics.CodeAnalysis;
using Microsoft.Data.SqlClient;
using Microsoft.Data.Sqlite;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Storage;
using MySqlConnector;
using Npgsql;

namespace Waypost.Tests;

/// <summary>The app's model.</summary>
internal sealed class Order
{
    public int Id { get; set; }
    public string? Name { get; set; }
}

internal sealed class Context(Action<DbContextOptionsBuilder> configure) : DbContext
{
    public DbSet<Order> Orders => Set<Order>();

    protected override void OnConfiguring(DbContextOptionsBuilder options) => configure(options);

    protected override void OnModelCreating(ModelBuilder model) =>
        model.Entity<Order>(order =>
        {
            order.ToTable("orders");
            order.Property(o => o.Id).HasColumnName("id");
            order.Property(o => o.Name).HasColumnName("name");
        });
}

/// <summary>What holds on the connections of every engine and provider.</summary>
public abstract class ConnectionTests(Engine engine) : IDisposable
{
    protected Bed Bed { get; } = new(engine);
    protected IOutbox Outbox => Bed.Outbox;

    public void Dispose() => Bed.Dispose();

    /// <summary>One with a unique key, whose statement returns rows, its duplicate, and a batch.</summary>
    protected async Task EnqueueAllAsync(DbTransaction transaction)
    {
        var unique = new NewOutboxMessage("unique", "\U0001f600") { UniqueKey = "k" };
        Assert.False((await Outbox.EnqueueAsync(unique, transaction)).IsDuplicate);
        Assert.True((await Outbox.EnqueueAsync(unique, transaction)).IsDuplicate);
        await Outbox.EnqueueManyAsync([new("plain", "1"), new("plain", "2")], transaction);
        await Outbox.EnqueueAsync("plain", "3", transaction, "c", DateTimeOffset.UnixEpoch);
    }

    /// <summary>Write a row and messages in a transaction, and end it.</summary>
    protected async Task WriteAsync(DbConnection connection, IsolationLevel isolation, bool commit)
    {
        await using DbTransaction transaction = await connection.BeginTransactionAsync(isolation);
        Bed.InsertOrder(connection, transaction);
        await EnqueueAllAsync(transaction);
        Assert.Equal(0, await Bed.CountAsync());
        if (commit)
            await transaction.CommitAsync();
        else
            await transaction.RollbackAsync();
        Assert.Equal(commit ? ["plain", "unique"] : [], await Bed.TopicsAsync());
        Assert.Equal(commit ? 1 : 0, await Bed.OrdersAsync());
        string[] payloads = commit ? ["3", "\U0001f600", "1", "2"] : [];
        Assert.Equal(payloads, await Bed.ClaimPayloadsAsync());
    }

    /// <summary>All other calls that join a transaction, which is ended then.</summary>
    protected async Task JoinWithAllAsync(DbConnection connection, IsolationLevel isolation, bool commit)
    {
        (IInbox inbox, ISchedulerClient scheduler, IJoins joins) = (Bed.Store.Inbox, Bed.Store.Scheduler, Bed.Store.Joins);
        Guid owner = WaypostStore.NewId();
        foreach (string id in new[] { "ack", "abandon", "fail" })
            await inbox.EnqueueAsync("claimed", "src", id, "");
        IReadOnlyList<InboxMessage> claimed = await inbox.ClaimAsync(owner, Bed.Patience, 10);
        Guid timer = await scheduler.ScheduleTimerAsync("t", "1", Bed.Now + Bed.Second);
        Guid moved = await scheduler.ScheduleTimerAsync("t", "2", Bed.Now + Bed.Second);
        await inbox.CheckAsync(new("dead", "src"));
        await inbox.MarkDeadAsync("dead", "src");
        Guid step = await Outbox.EnqueueAsync("step", ""), join, open = await joins.StartJoinAsync(1);
        var hashed = new InboxKey("once", "src") { Consumer = "c", Hash = new byte[] { 0, 255, 1 } };
        await using (DbTransaction transaction = await connection.BeginTransactionAsync(isolation))
        {
            Assert.True((await inbox.ProcessOnceAsync(hashed, transaction)).Proceed);
            Assert.Equal(InboxState.New, (await inbox.CheckAsync(new("new", "src"), transaction)).Found);
            Assert.Equal(2, (await inbox.EnqueueManyAsync(
                [new(new("b", "src"), new("t", "\U0001f600")), new(new("a", "src"), new("t", "1"))], transaction)).Count);
            await inbox.MarkProcessingAsync(new("new", "src"), transaction);
            await inbox.MarkProcessedAsync(new("new", "src"), transaction);
            await inbox.ReviveAsync(new("dead", "src"), transaction);
            await inbox.MarkDeadAsync(new("dead", "src"), "bad", transaction);
            Assert.Equal(1, await inbox.AckAsync(owner, [claimed[0]], transaction, "me"));
            Assert.Equal(1, await inbox.AbandonAsync(owner, [claimed[1]], "later", Bed.Second, transaction));
            Assert.Equal(1, await inbox.FailAsync(owner, [claimed[2]], "bad", transaction));
            await scheduler.ScheduleTimerAsync("t", "3", Bed.Now, transaction);
            Assert.True(await scheduler.CancelTimerAsync(timer, transaction));
            Assert.True(await scheduler.RescheduleTimerAsync(moved, Bed.Now, transaction));
            LeaseInfo lease = await Bed.Store.Leases.AcquireOnceAsync("n", "me", Bed.Patience, transaction);
            await Bed.Store.Leases.RenewAsync("n", "me", lease.Fence, Bed.Patience, transaction);
            Assert.Equal("me", (await Bed.Store.Leases.GetAsync("n", transaction)).Owner);
            await Bed.Store.Semaphores.SetLimitAsync("n", 1, transaction);
            Assert.True((await Bed.Store.Semaphores.AcquireOnceAsync("n", "r", Bed.Patience, transaction)).Granted);
            Assert.True(await Bed.Store.Semaphores.ReleaseAsync("n", "r", 0, transaction));
            join = await joins.StartJoinAsync(new NewJoin(3)
            {
                GroupingKey = "\U0001f600",
                Metadata = "m",
                Timeout = Bed.Second,
                OnSuccess = new("over", "\U0001f600"),
            }, transaction);
            Guid member = (await Outbox.EnqueueAsync(new("step", "") { Joins = [join, open] }, transaction)).Id;
            Assert.True(await joins.AttachMessageToJoinAsync(join, step, transaction));
            Assert.Equal(2, await joins.ReportStepsCompletedAsync(join, [step, member], transaction));
            Assert.False(await joins.ReportStepFailedAsync(join, step, transaction));
            Assert.True(await joins.CancelJoinAsync(open, transaction));
            if (commit)
                await transaction.CommitAsync();
            else
                await transaction.RollbackAsync();
        }
        Assert.Equal(commit ? InboxState.Done : InboxState.New, (await inbox.CheckAsync(hashed)).Found);
        Assert.Equal(commit, await inbox.AlreadyProcessedAsync("new", "src"));
        Assert.Equal(commit ? ["1", "\U0001f600"] : [],
                     (await inbox.ClaimAsync(owner, Bed.Patience, 10, ["t"])).Select(m => m.Payload).Order(StringComparer.Ordinal));
        Assert.Equal(commit ? "bad" : null, (await inbox.GetAsync("dead", "src")).LastError);
        TopicStats total = (await inbox.GetStatsAsync()).Topics["claimed"];
        Assert.Equal(commit ? (1, 1, 1, 0) : (0, 0, 0, 3), (total.Done, total.Scheduled, total.Failed, total.InProgress));
        Assert.Equal(commit ? OutboxMessageStatus.Cancelled : OutboxMessageStatus.Ready, (await scheduler.GetTimerAsync(timer)).Status);
        Assert.Equal(commit ? ["2", "3"] : [],
                     (await scheduler.Timers.ClaimAsync(owner, Bed.Patience, 10)).Select(m => m.Payload).Order(StringComparer.Ordinal));
        Assert.Equal(!commit, (await Bed.Store.Leases.AcquireOnceAsync("n", "you", Bed.Second)).Granted);
        JoinInfo? started = await joins.FindJoinAsync(join);
        Assert.Equal(commit ? ("\U0001f600", 2) : (null, null), (started?.GroupingKey, started?.CompletedSteps));
        Assert.Equal(commit ? JoinStatus.Cancelled : JoinStatus.Open, (await joins.GetJoinAsync(open)).Status);
    }

    protected async Task WriteWithEntityFrameworkAsync(Action<DbContextOptionsBuilder> configure, bool commit)
    {
        await using var context = new Context(configure);
        await using IDbContextTransaction transaction = await context.Database.BeginTransactionAsync();
        context.Orders.Add(new Order { Name = "x" });
        await context.SaveChangesAsync();
        await EnqueueAllAsync(context.Database.CurrentTransaction!.GetDbTransaction());
        await transaction.CreateSavepointAsync("s");
        await Outbox.EnqueueAsync("gone", "1", transaction.GetDbTransaction());
        await transaction.RollbackToSavepointAsync("s");
        Assert.Equal(0, await Bed.CountAsync());
        if (commit)
            await transaction.CommitAsync();
        else
            await transaction.RollbackAsync();
        Assert.Equal(commit ? ["plain", "unique"] : [], await Bed.TopicsAsync());
        Assert.Equal(commit ? 1 : 0, await Bed.OrdersAsync());
    }

    // proves: BND-002
    [Fact]
    public async Task Connection_without_a_transaction_object()
    {
        DbConnection connection = Bed.Connect();
        await Outbox.EnqueueAsync(new NewOutboxMessage("auto", "1"), connection);
        Assert.Equal(["auto"], await Bed.TopicsAsync());
        Bed.Execute(connection, Bed.Engine.Begin);
        await Outbox.EnqueueManyAsync([new("begun", "1")], connection);
        Bed.Execute(connection, "ROLLBACK");
        Assert.Equal(["auto"], await Bed.TopicsAsync());
    }

    [Fact]
    public async Task Transaction_that_is_over_is_refused()
    {
        DbConnection connection = Bed.Connect();
        DbTransaction transaction = await connection.BeginTransactionAsync();
        await transaction.CommitAsync();
        await Assert.ThrowsAnyAsync<InvalidOperationException>(() => Outbox.EnqueueAsync("a", "1", transaction));
    }

    [Fact]
    public async Task Bad_argument_leaves_the_transaction_open_and_usable()
    {
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        Bed.InsertOrder(connection, transaction);
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync("", "1", transaction));
        await Outbox.EnqueueAsync("a", "1", transaction);
        await transaction.CommitAsync();
        Assert.Equal(1, await Bed.OrdersAsync());
        Assert.Equal(["a"], await Bed.TopicsAsync());
    }

    [Fact]
    public async Task Cancelled_before_it_began_does_nothing()
    {
        using var cancelled = new CancellationTokenSource();
        cancelled.Cancel();
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => Outbox.EnqueueAsync("a", "1", transaction, cancellationToken: cancelled.Token));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => Outbox.EnqueueAsync("a", "1", cancellationToken: cancelled.Token));
            await transaction.CommitAsync();
        }
        Assert.Equal(0, await Bed.CountAsync());
    }
}

[Trait("Engine", "postgresql")]
public sealed class PostgreSqlConnectionTests() : ConnectionTests(Engine.PostgreSql)
{
    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(IsolationLevel.ReadCommitted, true)]
    [InlineData(IsolationLevel.RepeatableRead, true)]
    [InlineData(IsolationLevel.Serializable, true)]
    [InlineData(IsolationLevel.Serializable, false)]
    public Task Messages_belong_to_the_transaction_of_npgsql(IsolationLevel isolation, bool commit) =>
        WriteAsync(Bed.Connect(), isolation, commit);

    // proves: BND-002
    [Theory]
    [InlineData(IsolationLevel.ReadCommitted, true)]
    [InlineData(IsolationLevel.ReadCommitted, false)]
    [InlineData(IsolationLevel.RepeatableRead, true)]
    [InlineData(IsolationLevel.Serializable, true)]
    public Task All_that_joins_a_transaction_belongs_to_it_on_npgsql(IsolationLevel isolation, bool commit) =>
        JoinWithAllAsync(Bed.Connect(), isolation, commit);

    private OdbcConnection ConnectByOdbc()
    {
        var url = new Uri(Bed.Url);
        var connection = Bed.Keep(new OdbcConnection(
            $"Driver={{PostgreSQL Unicode}};Server={url.Host};Port={url.Port};Database={url.AbsolutePath[1..]};"
            + $"Uid={url.UserInfo};Protocol=7.4-0;UseServerSidePrepare=1;UseDeclareFetch=0;MaxLongVarcharSize=8388608"));
        connection.Open();
        return connection;
    }

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task Messages_belong_to_the_transaction_of_odbc(bool commit) =>
        WriteAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, commit);

    // proves: BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task All_that_joins_a_transaction_belongs_to_it_on_odbc(bool commit) =>
        JoinWithAllAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, commit);

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task Entity_framework_saves_rows_and_messages_together_on_npgsql(bool commit) =>
        WriteWithEntityFrameworkAsync(
            options => options.UseNpgsql(Engine.PostgreSqlConnectionString(Bed.Url)), commit);

    [Fact]
    public async Task Error_of_the_statement_is_npgsqls_and_aborts_the_transaction()
    {
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await Outbox.EnqueueAsync("a", "1", transaction);
        await Assert.ThrowsAsync<PostgresException>(async () => Bed.Execute(connection, "SELECT 1 / 0", transaction));
        var error = await Assert.ThrowsAsync<PostgresException>(() => Outbox.EnqueueAsync("a", "2", transaction));
        Assert.Equal("25P02", error.SqlState);
        await transaction.RollbackAsync();
        Assert.Equal(0, await Bed.CountAsync());
    }

    [Fact]
    public async Task Statement_under_way_can_be_cancelled()
    {
        DbConnection blocker = Bed.Connect();
        await using DbTransaction blocking = await blocker.BeginTransactionAsync();
        await Outbox.EnqueueAsync(new NewOutboxMessage("a", "1") { UniqueKey = "k" }, blocking);
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        using var cancel = new CancellationTokenSource();
        Task waiting = Outbox.EnqueueAsync(new NewOutboxMessage("a", "2") { UniqueKey = "k" }, transaction, cancel.Token);
        cancel.CancelAfter(100);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting);
        await transaction.RollbackAsync();
        await blocking.CommitAsync();
        Assert.Equal(["1"], await Bed.ClaimPayloadsAsync());
    }
}

[Trait("Engine", "mariadb")]
public sealed class MariaDbConnectionTests() : ConnectionTests(Engine.MariaDb)
{
    /// <summary>Providers' own ways with ids and small numbers do not matter.</summary>
    private MySqlConnection Connect(string more)
    {
        var connection = Bed.Keep(new MySqlConnection(Engine.MariaDbConnectionString(Bed.Url) + more));
        connection.Open();
        return connection;
    }

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData("", IsolationLevel.ReadCommitted, true)]
    [InlineData("", IsolationLevel.RepeatableRead, true)]
    [InlineData("", IsolationLevel.Serializable, true)]
    [InlineData("", IsolationLevel.RepeatableRead, false)]
    [InlineData(";GuidFormat=Binary16;TreatTinyAsBoolean=false", IsolationLevel.RepeatableRead, true)]
    [InlineData(";GuidFormat=None;Allow User Variables=true", IsolationLevel.RepeatableRead, true)]
    [InlineData(";IgnorePrepare=false;UseCompression=true", IsolationLevel.RepeatableRead, true)]
    public Task Messages_belong_to_the_transaction_of_mysqlconnector(string more, IsolationLevel isolation, bool commit) =>
        WriteAsync(Connect(more), isolation, commit);

    // proves: BND-002
    [Theory]
    [InlineData("", IsolationLevel.ReadCommitted, true)]
    [InlineData("", IsolationLevel.RepeatableRead, false)]
    [InlineData(";GuidFormat=Binary16;TreatTinyAsBoolean=false", IsolationLevel.RepeatableRead, true)]
    [InlineData(";GuidFormat=None", IsolationLevel.Serializable, true)]
    public Task All_that_joins_a_transaction_belongs_to_it_on_mysqlconnector(string more, IsolationLevel isolation, bool commit) =>
        JoinWithAllAsync(Connect(more), isolation, commit);

    private OdbcConnection ConnectByOdbc()
    {
        var connection = Bed.Keep(new OdbcConnection(Bed.Url["odbc:".Length..] + ";CHARSET=utf8mb4"));
        connection.Open();
        return connection;
    }

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task Messages_belong_to_the_transaction_of_odbc(bool commit) =>
        WriteAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, commit);

    // proves: BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task All_that_joins_a_transaction_belongs_to_it_on_odbc(bool commit) =>
        JoinWithAllAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, commit);

    [Fact]
    public async Task Error_of_the_statement_is_mysqlconnectors()
    {
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await Outbox.EnqueueAsync("a", "1", transaction);
        await Assert.ThrowsAsync<MySqlException>(async () => Bed.Execute(connection, "SELECT * FROM missing", transaction));
        await Outbox.EnqueueAsync("b", "2", transaction);
        await transaction.CommitAsync();
        Assert.Equal(["a", "b"], await Bed.TopicsAsync());
    }
}

[Trait("Engine", "sqlserver")]
public sealed class SqlServerConnectionTests() : ConnectionTests(Engine.SqlServer)
{
    private SqlConnection Connect(string more = "")
    {
        var connection = Bed.Keep(new SqlConnection(Engine.SqlServerConnectionString(Bed.Url) + more));
        connection.Open();
        return connection;
    }

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData("", IsolationLevel.Unspecified, true)]
    [InlineData("", IsolationLevel.ReadCommitted, false)]
    [InlineData("", IsolationLevel.Snapshot, true)]
    [InlineData(";MultipleActiveResultSets=true", IsolationLevel.ReadCommitted, true)]
    public Task Messages_belong_to_the_transaction_of_sqlclient(string more, IsolationLevel isolation, bool commit) =>
        WriteAsync(Connect(more), isolation, commit);

    // proves: BND-002
    [Theory]
    [InlineData(IsolationLevel.ReadCommitted, true)]
    [InlineData(IsolationLevel.ReadCommitted, false)]
    public Task All_that_joins_a_transaction_belongs_to_it_on_sqlclient(IsolationLevel isolation, bool commit) =>
        JoinWithAllAsync(Connect(), isolation, commit);

    private OdbcConnection ConnectByOdbc()
    {
        var connection = Bed.Keep(new OdbcConnection(Bed.Url["odbc:".Length..]) { ConnectionTimeout = 120 });
        connection.Open();
        return connection;
    }

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task Messages_belong_to_the_transaction_of_odbc(bool commit) =>
        WriteAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, commit);

    // proves: BND-002
    [Fact]
    public Task All_that_joins_a_transaction_belongs_to_it_on_odbc() =>
        JoinWithAllAsync(ConnectByOdbc(), IsolationLevel.ReadCommitted, true);

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task Entity_framework_saves_rows_and_messages_together_on_sqlclient(bool commit) =>
        WriteWithEntityFrameworkAsync(
            options => options.UseSqlServer(Engine.SqlServerConnectionString(Bed.Url)), commit);

    [Theory]
    [InlineData(false, 3999)]
    [InlineData(false, 4000)]
    [InlineData(false, 4001)]
    [InlineData(false, 100_000)]
    [InlineData(true, 4001)]
    [InlineData(true, 100_000)]
    public async Task Texts_of_every_length_come_whole(bool odbc, int length)
    {
        string text = new string('\u00e4', length - 3) + "\U0001f600 ";
        DbConnection connection = odbc ? ConnectByOdbc() : Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Outbox.EnqueueAsync(new NewOutboxMessage("a", text) { UniqueKey = "k" }, transaction);
            await transaction.CommitAsync();
        }
        Assert.Equal([text], await Bed.ClaimPayloadsAsync());
    }

    /// <summary>What an app's XACT_ABORT makes of an error is said, and nothing is enqueued outside.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Error_of_the_statement_is_sqlclients_and_ends_the_transaction_where_the_app_says_so(bool abort)
    {
        SqlConnection connection = Connect();
        if (abort)
            Bed.Execute(connection, "SET XACT_ABORT ON");
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await Outbox.EnqueueAsync("a", "1", transaction);
        await Assert.ThrowsAsync<SqlException>(async () => Bed.Execute(connection, "SELECT 1 / 0", transaction));
        if (abort)
        {
            var error = await Assert.ThrowsAsync<InvalidOperationException>(() => Outbox.EnqueueAsync("b", "2", transaction));
            Assert.Contains("the transaction is over", error.Message);
            Assert.Equal(0, await Bed.CountAsync());
            return;
        }
        await Outbox.EnqueueAsync("b", "2", transaction);
        await transaction.CommitAsync();
        Assert.Equal(["a", "b"], await Bed.TopicsAsync());
    }

    /// <summary>What the app has set for its session is as it was.</summary>
    [Fact]
    public async Task Settings_of_the_session_stay_the_apps()
    {
        const string Settings = "SELECT CONCAT(@@OPTIONS, ' ', @@LOCK_TIMEOUT, ' ', @@TRANCOUNT)";
        SqlConnection connection = Connect();
        Bed.Execute(connection, "SET XACT_ABORT ON; SET NOCOUNT OFF; SET LOCK_TIMEOUT 1234; SET ARITHABORT OFF");
        await using SqlCommand command = connection.CreateCommand();
        await using var transaction = (SqlTransaction)await connection.BeginTransactionAsync();
        command.Transaction = transaction;
        command.CommandText = Settings;
        object? before = await command.ExecuteScalarAsync();
        await EnqueueAllAsync(transaction);
        Assert.True((await Bed.Store.Inbox.ProcessOnceAsync(new("1", "src"), transaction)).Proceed);
        Assert.Equal(before, await command.ExecuteScalarAsync());
        await transaction.RollbackAsync();
        Assert.Equal(0, await Bed.CountAsync());
    }
}

public sealed class SqliteConnectionTests() : ConnectionTests(Engine.Sqlite)
{
    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(IsolationLevel.Unspecified, true)]
    [InlineData(IsolationLevel.Serializable, true)]
    [InlineData(IsolationLevel.Serializable, false)]
    public Task Messages_belong_to_the_transaction(IsolationLevel isolation, bool commit) =>
        WriteAsync(Bed.Connect(), isolation, commit);

    // proves: BND-002
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task All_that_joins_a_transaction_belongs_to_it(bool commit) =>
        JoinWithAllAsync(Bed.Connect(), IsolationLevel.Serializable, commit);

    // proves: OBX-001, OBX-003, BND-002
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Entity_framework_saves_rows_and_messages_together(bool commit) =>
        WriteWithEntityFrameworkAsync(
            options => options.UseSqlite($"Data Source={Bed.Store.Location};Pooling=False"), commit);

    [Fact]
    public async Task Sequences_on_one_pooled_connection()
    {
        for (int n = 0; n < 20; n++)
        {
            await using var connection = new SqliteConnection($"Data Source={Bed.Store.Location}");
            await connection.OpenAsync();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await Outbox.EnqueueAsync(n % 2 == 0 ? "kept" : "gone", "1", transaction);
            if (n % 2 == 0)
                await transaction.CommitAsync();
        }
        OutboxStats stats = await Outbox.GetStatsAsync();
        Assert.Equal(("kept", 10), (Assert.Single(stats.Topics).Key, stats.Total.Ready));
    }

    [Fact]
    public async Task Error_of_the_statement_is_the_providers()
    {
        using var blocker = (SqliteConnection)Bed.Engine.Connect(Bed.Store);
        Bed.Execute(blocker, "BEGIN IMMEDIATE");
        await using var connection = new SqliteConnection($"Data Source={Bed.Store.Location};Default Timeout=1;Pooling=False");
        await connection.OpenAsync();
        await using (DbTransaction transaction = connection.BeginTransaction(deferred: true))
        {
            var error = await Assert.ThrowsAsync<SqliteException>(() => Outbox.EnqueueAsync("a", "1", transaction));
            Assert.Equal(5, error.SqliteErrorCode);
        }
        Bed.Execute(blocker, "ROLLBACK");
        await using DbTransaction again = await connection.BeginTransactionAsync();
        await Outbox.EnqueueAsync("a", "2", again);
        await again.CommitAsync();
        Assert.Equal(["2"], await Bed.ClaimPayloadsAsync());
    }

    [Fact]
    public async Task Readers_of_the_app_stay_as_they_are()
    {
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await using DbCommand command = connection.CreateCommand();
        command.Transaction = transaction;
        command.CommandText = "SELECT 1 UNION SELECT 2";
        await using (DbDataReader reader = await command.ExecuteReaderAsync())
        {
            Assert.True(await reader.ReadAsync());
            await Outbox.EnqueueAsync(new NewOutboxMessage("a", "1") { UniqueKey = "k" }, transaction);
            Assert.True(await reader.ReadAsync());
            Assert.Equal(2, reader.GetInt64(0));
        }
        await transaction.CommitAsync();
        Assert.Equal(["a"], await Bed.TopicsAsync());
    }

    [Fact]
    public async Task Database_in_memory_is_shared_with_the_app()
    {
        using WaypostStore store = WaypostStore.Open("sqlite::memory:", deploy: true, Quiet.Instance);
        await using var connection = new SqliteConnection($"Data Source={store.Location}");
        await connection.OpenAsync();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await store.Outbox.EnqueueAsync("a", "1", transaction);
            await transaction.RollbackAsync();
        }
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await store.Outbox.EnqueueAsync("a", "2", transaction);
            await transaction.CommitAsync();
        }
        string? handled = null;
        using OutboxWorker worker = store.CreateWorker().Handle("a", (d, _) =>
        {
            handled = d.Payload;
            return Task.CompletedTask;
        });
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal("2", handled);
    }

    // ---- a provider that is truly asynchronous, and hides its kind ---------------------------

    /// <summary>A wrapper, as profilers use; its methods finish later, on other threads.</summary>
    private sealed class Wrapped(SqliteConnection inner) : DbConnection
    {
        public int Later { get; private set; }

        [AllowNull]
        public override string ConnectionString { get => inner.ConnectionString; set => throw new NotSupportedException(); }
        public override string Database => inner.Database;
        public override string DataSource => inner.DataSource;
        public override string ServerVersion => inner.ServerVersion;
        public override ConnectionState State => inner.State;
        public override void ChangeDatabase(string databaseName) => throw new NotSupportedException();
        public override void Close() => inner.Close();
        public override void Open() => inner.Open();
        protected override DbTransaction BeginDbTransaction(IsolationLevel isolationLevel) => inner.BeginTransaction();
        protected override DbCommand CreateDbCommand() => new Command(this, inner.CreateCommand());

        private sealed class Command(Wrapped owner, SqliteCommand inner) : DbCommand
        {
            [AllowNull]
            public override string CommandText { get => inner.CommandText; set => inner.CommandText = value; }
            public override int CommandTimeout { get => inner.CommandTimeout; set => inner.CommandTimeout = value; }
            public override CommandType CommandType { get => inner.CommandType; set => inner.CommandType = value; }
            public override bool DesignTimeVisible { get; set; }
            public override UpdateRowSource UpdatedRowSource { get; set; }
            protected override DbConnection? DbConnection { get; set; }
            protected override DbParameterCollection DbParameterCollection => inner.Parameters;
            protected override DbTransaction? DbTransaction
            {
                get => inner.Transaction;
                set => inner.Transaction = (SqliteTransaction?)value;
            }
            public override void Cancel() => inner.Cancel();
            public override int ExecuteNonQuery() => throw new InvalidOperationException("not async");
            public override object? ExecuteScalar() => throw new InvalidOperationException("not async");
            public override void Prepare() => inner.Prepare();
            protected override DbParameter CreateDbParameter() => inner.CreateParameter();
            protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior) =>
                throw new InvalidOperationException("not async");

            public override async Task<int> ExecuteNonQueryAsync(CancellationToken cancellationToken)
            {
                await Task.Delay(1, cancellationToken);
                owner.Later++;
                return inner.ExecuteNonQuery();
            }

            protected override async Task<DbDataReader> ExecuteDbDataReaderAsync(
                CommandBehavior behavior, CancellationToken cancellationToken)
            {
                await Task.Delay(1, cancellationToken);
                owner.Later++;
                return inner.ExecuteReader(behavior);
            }

            protected override void Dispose(bool disposing) => inner.Dispose();
        }
    }

    // proves: BND-002
    [Fact]
    public async Task Asynchronous_methods_of_the_provider_are_used_and_no_others()
    {
        await using var inner = new SqliteConnection($"Data Source={Bed.Store.Location};Pooling=False");
        await inner.OpenAsync();
        await using var connection = new Wrapped(inner);
        Bed.Execute(inner, "BEGIN");
        await Outbox.EnqueueAsync(new NewOutboxMessage("a", "1") { UniqueKey = "k" }, connection);
        await Outbox.EnqueueAsync(new NewOutboxMessage("a", "2"), connection);
        Bed.Execute(inner, "COMMIT");
        Assert.True(connection.Later >= 2);
        Assert.Equal(["1", "2"], await Bed.ClaimPayloadsAsync());
    }
}
