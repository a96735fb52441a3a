// SPDX-License-Identifier: Apache-2.0
// The inbox: scenarios INB-001 to INB-015 of tests/conformance/scenarios.md.
using System.Data.Common;
using System.Security.Cryptography;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public abstract class InboxTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly DateTimeOffset Now = Bed.Now;
    private static readonly byte[] HashA = SHA256.HashData("a"u8), HashB = SHA256.HashData("b"u8);

    protected Bed Bed { get; } = new(engine);
    private IInbox Inbox => Bed.Store.Inbox;

    public void Dispose() => Bed.Dispose();

    private static InboxKey Key(string id, string source = "src") => new(id, source);

    private Task<InboxResult> Enqueue(string id, string topic = "t", string payload = "") =>
        Inbox.EnqueueAsync(Key(id), new NewOutboxMessage(topic, payload));

    private async Task<OutboxMessageStatus> StatusAsync(string id) =>
        (await Inbox.GetAsync(Key(id))).Status;

    private Task<IReadOnlyList<InboxMessage>> ClaimAsync(Guid owner, TimeSpan? lease = null) =>
        Inbox.ClaimAsync(owner, lease ?? 30 * Second, 100);

    // ---- arrival ----------------------------------------------------------------------------

    // scenario: INB-001
    // proves: IBX-002..005
    [Fact]
    public async Task Check_is_new_then_seen_then_done_once_processed()
    {
        Assert.False(await Inbox.AlreadyProcessedAsync("1", "src"));
        Assert.False(default(InboxResult).Proceed);
        InboxResult again = await Inbox.CheckAsync(Key("1"));
        Assert.Equal((InboxState.Seen, true, false), (again.Found, again.Proceed, again.HashMismatch));
        await Inbox.MarkProcessedAsync("1", "src");
        Assert.True(await Inbox.AlreadyProcessedAsync("1", "src"));
        Assert.True(await Inbox.AlreadyProcessedAsync("1", "src", null));
        Assert.Equal(InboxState.Done, (await Inbox.CheckAsync(Key("1"))).Found);
        Assert.False(await Inbox.AlreadyProcessedAsync("2", "src"));
        Assert.Equal(new InboxCounters(6, 0, 3, 0), Inbox.Counters);
    }

    // scenario: INB-001
    // proves: IBX-002, BND-002
    [Fact]
    public async Task Check_in_the_apps_transaction_rolled_back_leaves_no_trace()
    {
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            InboxResult first = await Inbox.CheckAsync(Key("1"), transaction);
            Assert.Equal((InboxState.New, true), (first.Found, first.Id is not null));
            Assert.Equal(InboxState.Seen, (await Inbox.CheckAsync(Key("1"), transaction)).Found);
            await transaction.RollbackAsync();
        }
        Assert.Null(await Inbox.FindAsync(Key("1")));
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Inbox.CheckAsync(Key("1"), transaction);
            await Inbox.MarkProcessedAsync(Key("1"), transaction);
            await transaction.CommitAsync();
        }
        Assert.True(await Inbox.AlreadyProcessedAsync("1", "src"));
    }

    // scenario: INB-002
    // proves: IBX-001, IBX-010, IBX-021
    [Fact]
    public async Task Keys_that_nearly_look_alike_are_different()
    {
        string[] alike = ["a", "A", "a ", " a", "\u00e9", "e\u0301"];
        foreach (string name in alike)
        {
            Assert.Equal(InboxState.New, (await Inbox.CheckAsync(new InboxKey(name, "s"))).Found);
            Assert.Equal(InboxState.New, (await Inbox.CheckAsync(new InboxKey("m", name))).Found);
            Assert.Equal(InboxState.New,
                         (await Inbox.CheckAsync(new InboxKey("m", "s") { Consumer = name })).Found);
        }
        foreach (string name in alike)
            Assert.Equal(InboxState.Seen, (await Inbox.CheckAsync(new InboxKey(name, "s"))).Found);
    }

    // scenario: INB-003
    // proves: IBX-009..012, IBX-015..018, IBX-020, BND-004
    [Theory]
    [InlineData("a", 1)]
    [InlineData("\U0001f600", 2)]
    public async Task Names_of_255_units_pass_and_empty_null_and_longer_ones_do_not(string character, int units)
    {
        string name = string.Concat(Enumerable.Repeat(character, 255 / units)) + new string('a', 255 % units);
        await Inbox.EnqueueAsync(name, name, name, "");
        InboxMessage got = (await Inbox.GetAsync(name, name)).Inbox!;
        Assert.Equal((name, name, name), (got.Topic, got.Source, got.MessageId));
        foreach (string bad in new[] { "", name + "a" })
        {
            await Names("source", () => Inbox.AlreadyProcessedAsync("1", bad));
            await Names("message", () => Inbox.AlreadyProcessedAsync(bad, "src"));
            await Names("topic", () => Inbox.EnqueueAsync(bad, "src", "1", ""));
            await Names("source", () => Inbox.EnqueueAsync("t", bad, "1", ""));
            await Names("message", () => Inbox.EnqueueAsync("t", "src", bad, ""));
        }
        await Names("consumer", () => Inbox.CheckAsync(new InboxKey("1", "src") { Consumer = name + "a" }));
        Assert.Null(await Inbox.FindAsync(Key("1")));

        static async Task Names(string what, Func<Task> call) => Assert.Contains(
            what, (await Assert.ThrowsAsync<ArgumentException>(call)).Message, StringComparison.Ordinal);
    }

    // scenario: INB-003
    // proves: BND-004
    [Fact]
    public async Task Null_arguments_are_named()
    {
        await Null("messageId", () => Inbox.AlreadyProcessedAsync(null!, "src"));
        await Null("source", () => Inbox.AlreadyProcessedAsync("1", null!));
        await Null("topic", () => Inbox.EnqueueAsync(null!, "src", "1", ""));
        await Null("payload", () => Inbox.EnqueueAsync("t", "src", "1", null!));
        await Null("key", () => Inbox.CheckAsync(null!));
        await Null("key", () => Inbox.EnqueueAsync(null!, new NewOutboxMessage("t", "")));
        await Null("message", () => Inbox.EnqueueAsync(Key("1"), null!));
        await Null("messages", () => Inbox.EnqueueManyAsync(null!));
        await Null("messages", () => Inbox.EnqueueManyAsync([null!]));
        await Null("transaction", () => Inbox.ProcessOnceAsync(Key("1"), null!));
        await Null("connection", () => Inbox.ProcessOnceAsync(Key("1"), null!, (_, _) => Task.CompletedTask));
        await Null("process", () => Inbox.ProcessOnceAsync(Key("1"), Bed.Connect(), null!));
        await Null("ids", () => Inbox.AckAsync(WaypostStore.NewId(), (Guid[])null!));
        await Null("messages", () => Inbox.AckAsync(WaypostStore.NewId(), (InboxMessage[])null!));
        await Assert.ThrowsAsync<ArgumentException>(() => Inbox.AlreadyProcessedAsync("a\0b", "src"));
        await Assert.ThrowsAsync<ArgumentException>(() => Inbox.AlreadyProcessedAsync("\ud800", "src"));
        Assert.Null(await Inbox.FindAsync(Key("1")));

        static async Task Null(string what, Func<Task> call) =>
            Assert.Equal(what, (await Assert.ThrowsAsync<ArgumentNullException>(call)).ParamName);
    }

    // scenario: INB-004
    // proves: IBX-007, IBX-008, IBX-107, IBX-129
    [Fact]
    public async Task Another_hash_is_told_and_warned_of_and_no_error()
    {
        var log = new Records();
        IInbox inbox = Bed.Open(logger: log).Inbox;
        var a = new InboxKey("1", "src") { Hash = HashA };
        var b = new InboxKey("1", "src") { Hash = HashB };
        await inbox.CheckAsync(a);
        Assert.False((await inbox.CheckAsync(a)).HashMismatch);
        Assert.True((await inbox.CheckAsync(b)).HashMismatch);
        Assert.Contains(log.All, one => one.Level == LogLevel.Warning && one.Text.Contains("hash", StringComparison.Ordinal));
        Assert.False((await inbox.CheckAsync(new InboxKey("1", "src") { Hash = HashB, HashAlgorithm = "md5" })).HashMismatch);
        Assert.False((await inbox.CheckAsync(Key("1"))).HashMismatch);
        InboxResult stored = await inbox.EnqueueAsync(b, new NewOutboxMessage("t", "x"));
        Assert.True(stored.HashMismatch);
        InboxMessage got = (await inbox.GetAsync(b)).Inbox!;
        Assert.Equal((Convert.ToHexString(HashB), "sha256"), (Convert.ToHexString(got.Hash.Span), got.HashAlgorithm));
        Assert.Equal(2, inbox.Counters.Mismatches);
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        Assert.True((await inbox.CheckAsync(a, transaction)).HashMismatch);
    }

    // scenario: INB-005
    // proves: IBX-013, IBX-019, BND-002
    [Fact]
    public async Task Enqueue_in_the_apps_transaction_is_there_after_the_commit_alone()
    {
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Inbox.EnqueueAsync(Key("gone"), new NewOutboxMessage("t", "1"), transaction);
            await transaction.RollbackAsync();
        }
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            InboxResult made = await Inbox.EnqueueAsync(Key("kept"), new NewOutboxMessage("t", ""), transaction);
            Assert.Equal(InboxState.New, made.Found);
            Assert.Null(await Inbox.FindAsync(Key("kept")));
            await transaction.CommitAsync();
            Assert.Equal(made.Id, (await Inbox.GetAsync(Key("kept"))).Message.Id);
            await Assert.ThrowsAsync<InvalidOperationException>(
                () => Inbox.EnqueueAsync(Key("late"), new NewOutboxMessage("t", ""), transaction));
        }
        Assert.Null(await Inbox.FindAsync(Key("gone")));
        InboxMessage got = Assert.Single(await ClaimAsync(WaypostStore.NewId()));
        Assert.Equal(("kept", ""), (got.MessageId, got.Payload));
    }

    // scenario: INB-006
    // proves: IBX-014, IBX-028, IBX-029
    [Fact]
    public async Task Enqueue_again_renews_what_is_unfinished_and_leaves_what_is_done()
    {
        Guid owner = WaypostStore.NewId();
        InboxResult first = await Enqueue("1", "t", "old");
        InboxResult second = await Inbox.EnqueueAsync(Key("1"), new NewOutboxMessage("u", "new") { DueTimeUtc = Now + 5 * Second });
        Assert.Equal((first.Id, InboxState.Processing), (second.Id, second.Found));
        Assert.Empty(await ClaimAsync(owner));
        Bed.Clock.Advance(5 * Second);
        InboxMessage got = Assert.Single(await ClaimAsync(owner));
        Assert.Equal(("u", "new", Now + 5 * Second), (got.Topic, got.Payload, got.DueTimeUtc));
        await Inbox.AckAsync(owner, [got]);
        Assert.Equal(InboxState.Done, (await Enqueue("1", "v", "newer")).Found);
        Assert.Equal("new", (await Inbox.GetAsync(Key("1"))).Message.Payload);
        Assert.Empty(await ClaimAsync(owner));
    }

    // scenario: INB-007
    // proves: IBX-014, BND-004
    [Fact]
    public async Task Batch_gives_an_id_and_a_state_for_each_in_order_and_a_bad_one_stores_nothing()
    {
        await Enqueue("3");
        NewInboxMessage[] all = Enumerable.Range(0, 50)
            .Select(n => new NewInboxMessage(Key($"{n}"), new NewOutboxMessage("t", $"{n}"))).ToArray();
        NewInboxMessage[] bad = [.. all, new(Key("bad"), new NewOutboxMessage("", ""))];
        await Assert.ThrowsAsync<ArgumentException>(() => Inbox.EnqueueManyAsync(bad));
        Assert.Equal(1, (await Inbox.GetStatsAsync()).Total.Ready);
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Assert.ThrowsAsync<ArgumentException>(() => Inbox.EnqueueManyAsync(bad, transaction));
            Assert.Equal(50, (await Inbox.EnqueueManyAsync(all, transaction)).Count);
            Assert.Empty(await Inbox.EnqueueManyAsync([], transaction));
            await transaction.RollbackAsync();
        }
        Assert.Empty(await Inbox.EnqueueManyAsync([]));
        IReadOnlyList<InboxResult> made = await Inbox.EnqueueManyAsync(all);
        for (int n = 0; n < 50; n++)
        {
            Assert.Equal(n == 3 ? InboxState.Processing : InboxState.New, made[n].Found);
            Assert.Equal($"{n}", (await Inbox.GetAsync(made[n].Id!.Value)).Message.Payload);
        }
    }

    // ---- once -------------------------------------------------------------------------------

    // scenario: INB-008
    // proves: IBX-002, IBX-006
    [Fact]
    public async Task Once_commits_with_the_apps_writes_or_not_at_all()
    {
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Assert.True((await Inbox.ProcessOnceAsync(Key("1"), transaction)).Proceed);
            Bed.InsertOrder(connection, transaction);
            if (n == 0)
                await transaction.RollbackAsync();
            else
                await transaction.CommitAsync();
        }
        Assert.Equal(1, await Bed.OrdersAsync());
        await using DbTransaction late = await connection.BeginTransactionAsync();
        InboxResult done = await Inbox.ProcessOnceAsync(Key("1"), late);
        Assert.Equal((false, InboxState.Done), (done.Proceed, done.Found));
        await late.CommitAsync();
        await Assert.ThrowsAsync<InvalidOperationException>(() => Inbox.ProcessOnceAsync(Key("2"), late));
    }

    // scenario: INB-008
    // proves: IBX-002, IBX-006
    [Fact]
    public async Task Once_with_a_function_begins_commits_and_rolls_back_itself()
    {
        DbConnection connection = Bed.Connect();
        Task Process(DbTransaction transaction, CancellationToken token)
        {
            Bed.InsertOrder(connection, transaction);
            return Task.CompletedTask;
        }

        await Assert.ThrowsAsync<FormatException>(() => Inbox.ProcessOnceAsync(Key("1"), connection, async (transaction, token) =>
        {
            await Process(transaction, token);
            throw new FormatException("on purpose");
        }));
        Assert.Equal(0, await Bed.OrdersAsync());
        Assert.Null(await Inbox.FindAsync(Key("1")));
        using var cancelled = new CancellationTokenSource();
        await cancelled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => Inbox.ProcessOnceAsync(Key("1"), connection, Process, cancelled.Token));
        Assert.True((await Inbox.ProcessOnceAsync(Key("1"), connection, Process)).Proceed);
        Assert.False((await Inbox.ProcessOnceAsync(Key("1"), connection, Process)).Proceed);
        Assert.Equal(1, await Bed.OrdersAsync());
    }

    // scenario: INB-008
    // proves: IBX-006
    [Fact]
    public async Task Once_from_many_at_the_same_time_is_processed_by_one()
    {
        if (Abilities.AreMissing(Bed.Engine, Ability.LockTimeoutsCaught))
            return;
        const int Rounds = 5, Sides = 4;
        int processed = 0;
        for (int round = 0; round < Rounds; round++)
        {
            InboxKey key = Key($"{round}");
            await Task.WhenAll(Enumerable.Range(0, Sides).Select(_ => Task.Run(async () =>
            {
                await using DbConnection connection = Bed.Engine.Connect(Bed.Store);
                InboxResult result = await Inbox.ProcessOnceAsync(key, connection, (transaction, _) =>
                {
                    Bed.InsertOrder(connection, transaction);
                    Interlocked.Increment(ref processed);
                    return Task.CompletedTask;
                });
                Assert.True(result.Proceed || result.Found is InboxState.Done or InboxState.Processing);
            })));
        }
        Assert.Equal((Rounds, Rounds), (processed, await Bed.OrdersAsync()));
    }

    // ---- states by key ----------------------------------------------------------------------

    // scenario: INB-009
    // proves: IBX-044, IBX-060
    [Fact]
    public async Task Marked_by_key_and_revived()
    {
        await Inbox.CheckAsync(Key("1"));
        await Inbox.MarkProcessingAsync("1", "src");
        Assert.Equal(InboxState.Processing, (await Inbox.CheckAsync(Key("1"))).Found);
        Assert.Equal(OutboxMessageStatus.InProgress, await StatusAsync("1"));
        await Inbox.MarkDeadAsync(Key("1"), "bad");
        Assert.Equal("bad", (await Inbox.GetAsync(Key("1"))).LastError);
        Assert.Equal(InboxState.Dead, (await Inbox.CheckAsync(Key("1"))).Found);
        await Assert.ThrowsAsync<InvalidOperationException>(() => Inbox.MarkProcessingAsync("1", "src"));
        await Inbox.ReviveAsync(Key("1"));
        Assert.Equal(OutboxMessageStatus.Seen, await StatusAsync("1"));
        await Assert.ThrowsAsync<InvalidOperationException>(() => Inbox.ReviveAsync(Key("1")));
        await Inbox.MarkProcessedAsync("1", "src");
        await Assert.ThrowsAsync<InvalidOperationException>(() => Inbox.MarkDeadAsync("1", "src"));

        await Enqueue("2");
        await Inbox.MarkDeadAsync("2", "src");
        Assert.Empty(await ClaimAsync(WaypostStore.NewId()));
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Inbox.ReviveAsync(Key("2"), transaction);
            await transaction.CommitAsync();
        }
        Assert.Equal("2", Assert.Single(await ClaimAsync(WaypostStore.NewId())).MessageId);
    }

    // scenario: INB-009
    // proves: BND-004
    [Fact]
    public async Task Unknown_key_is_not_found()
    {
        Func<Task>[] calls =
        [
            () => Inbox.MarkProcessingAsync("x", "src"), () => Inbox.MarkProcessedAsync("x", "src"),
            () => Inbox.MarkDeadAsync("x", "src"), () => Inbox.ReviveAsync(Key("x")),
            () => Inbox.GetAsync("x", "src"), () => Inbox.GetAsync(WaypostStore.NewId()),
        ];
        foreach (Func<Task> call in calls)
            await Assert.ThrowsAsync<NotFoundException>(call);
        DbConnection connection = Bed.Connect();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await Assert.ThrowsAsync<NotFoundException>(() => Inbox.MarkProcessedAsync(Key("x"), transaction));
    }

    // ---- by hand ----------------------------------------------------------------------------

    // scenario: INB-010
    // proves: IBX-030..039, IBX-044..056, IBX-060..071
    [Fact]
    public async Task Claim_and_finish_by_hand()
    {
        Guid owner = WaypostStore.NewId(), other = WaypostStore.NewId();
        for (int n = 0; n < 6; n++)
            await Inbox.EnqueueAsync(
                new InboxKey($"{n}", "src") { Consumer = "c", Hash = HashA },
                new NewOutboxMessage("t", $"{n}"));
        IReadOnlyList<InboxMessage> got = await ClaimAsync(owner, 10 * Second);
        Assert.Equal(6, got.Count);
        InboxMessage one = got[0];
        Assert.Equal(("src", "0", "c", "sha256", "0"), (one.Source, one.MessageId, one.Consumer, one.HashAlgorithm, one.Payload));
        Assert.Equal((Now, Now, HashA.Length), (one.FirstSeenUtc, one.LastSeenUtc, one.Hash.Length));
        await Assert.ThrowsAsync<InvalidOperationException>(() => one.CompleteAsync(null!));
        Assert.Empty(await ClaimAsync(other));
        Assert.Equal(0, await Inbox.AckAsync(other, [one]));
        Assert.Equal(1, await Inbox.AckAsync(owner, [one, one]));
        Assert.Equal(1, await Inbox.AbandonAsync(owner, [got[1]], "later", 5 * Second));
        Assert.Equal(1, await Inbox.FailAsync(owner, [got[2]], "bad"));
        foreach ((string name, Func<Task> call) in new (string, Func<Task>)[]
        {
            ("lastError", () => Inbox.FailAsync(owner, [got[3]])),
            ("lastError", () => Inbox.FailAsync(owner, [got[3].Id], null)),
            ("error", () => Inbox.FailAsync(owner, [got[3]], null!, (DbTransaction)null!)),
        })
            Assert.Equal(name, (await Assert.ThrowsAsync<ArgumentNullException>(call)).ParamName);
        Assert.Equal(1, await Inbox.ReleaseAsync(owner, [got[3]]));
        Assert.Equal(1, await Inbox.RenewAsync(owner, [got[4]], 60 * Second));
        Bed.Clock.Advance(11 * Second);
        Assert.Equal(1, await Inbox.ReapExpiredAsync());
        Assert.Equal(0, await Inbox.AckAsync(owner, [got[5]]));
        IReadOnlyList<InboxMessage> rest = await ClaimAsync(other);
        Assert.Equal(["1", "3"], rest.Select(m => m.MessageId).Order(StringComparer.Ordinal));
        Assert.Equal(1, rest.Single(m => m.MessageId == "1").Attempt);
        Assert.Equal(0, rest.Single(m => m.MessageId == "3").Attempt);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Inbox.AbandonAsync(owner, rest, null, TimeSpan.Zero));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Inbox.ClaimAsync(owner, 0, 1));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Inbox.ClaimAsync(owner, 1, 0));
        async Task Names<T>(string name, Func<Task> call) where T : ArgumentException =>
            Assert.Equal(name, (await Assert.ThrowsAsync<T>(call)).ParamName);
        Guid me = WaypostStore.NewId();
        await Names<ArgumentException>("ownerToken", () => Inbox.ClaimAsync(Guid.Empty, 1, 1));
        await Names<ArgumentException>("ownerToken", () => Inbox.AckAsync(Guid.Empty, new[] { me }));
        await Names<ArgumentOutOfRangeException>("batchSize", () => Inbox.ClaimAsync(me, 1, 0));
        await Names<ArgumentOutOfRangeException>("lease", () => Inbox.ClaimAsync(me, TimeSpan.Zero, 1));
        await Names<ArgumentException>("correlationId", () => Bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "x") { CorrelationId = new string('x', 256) }));
        await Names<ArgumentOutOfRangeException>("duration", () => Bed.Store.Leases.AcquireOnceAsync("n", "me", TimeSpan.Zero));
        await Names<ArgumentException>("owner", () => Bed.Store.Leases.AcquireOnceAsync("n", "", Second));
        await Names<ArgumentOutOfRangeException>("olderThan", () => Inbox.CleanupAsync(-Second));
        Assert.Equal(0, await Inbox.AckAsync(owner, Array.Empty<Guid>()));
    }

    // scenario: INB-010
    // proves: IBX-040..043, IBX-050, IBX-060, BND-002
    [Fact]
    public async Task Finish_in_the_apps_transaction_commits_and_rolls_back_with_it()
    {
        Guid owner = WaypostStore.NewId();
        foreach (string id in new[] { "0", "1", "2" })
            await Enqueue(id);
        IReadOnlyList<InboxMessage> got = await ClaimAsync(owner);
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Assert.Equal(1, await Inbox.AckAsync(owner, [got[0]], transaction, "me"));
            Assert.Equal(1, await Inbox.AbandonAsync(owner, [got[1]], "later", null, transaction));
            Assert.Equal(1, await Inbox.FailAsync(owner, [got[2]], "bad", transaction));
            if (n == 0)
                await transaction.RollbackAsync();
            else
                await transaction.CommitAsync();
        }
        Assert.Equal((OutboxMessageStatus.Done, "me"), ((await Inbox.GetAsync(Key("0"))).Status, (await Inbox.GetAsync(Key("0"))).ProcessedBy));
        Assert.Equal((OutboxMessageStatus.Ready, "later"), ((await Inbox.GetAsync(Key("1"))).Status, (await Inbox.GetAsync(Key("1"))).LastError));
        Assert.Equal(OutboxMessageStatus.Failed, await StatusAsync("2"));
    }

    // scenario: INB-011
    // proves: IBX-025, IBX-026
    [Fact]
    public async Task Get_in_each_state_and_statistics_by_topic()
    {
        Guid owner = WaypostStore.NewId();
        await Inbox.CheckAsync(Key("1"));
        Assert.Equal(OutboxMessageStatus.Seen, await StatusAsync("1"));
        InboxResult made = await Enqueue("1");
        Assert.Equal(OutboxMessageStatus.Ready, await StatusAsync("1"));
        await ClaimAsync(owner);
        Assert.Equal(OutboxMessageStatus.InProgress, await StatusAsync("1"));
        await Inbox.AckAsync(owner, [made.Id!.Value]);
        Assert.Equal(OutboxMessageStatus.Done, (await Inbox.GetAsync(made.Id.Value)).Status);
        await Enqueue("2", "u");
        await Inbox.MarkDeadAsync("2", "src");
        Assert.Equal(OutboxMessageStatus.Failed, await StatusAsync("2"));
        OutboxStats stats = await Inbox.GetStatsAsync();
        Assert.Equal((1, 1), (stats.Topics["t"].Done, stats.Topics["u"].Failed));
        Assert.Null(await Inbox.FindAsync(Key("3")));
        Assert.Null(await Bed.Outbox.FindAsync(made.Id.Value));
    }

    // ---- handlers ---------------------------------------------------------------------------

    private sealed class Simple(List<InboxMessage> got) : IInboxHandler
    {
        public string Topic => "t";

        public Task HandleAsync(InboxMessage message, CancellationToken cancellationToken)
        {
            got.Add(message);
            return Task.CompletedTask;
        }
    }

    // scenario: INB-012
    // proves: IBX-073, IBX-076, IBX-110, BND-003
    [Fact]
    public async Task Handlers_of_inbox_and_outbox_get_their_own_messages_under_one_topic()
    {
        var inbox = new List<InboxMessage>();
        var outbox = new List<OutboxDelivery>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle(new Simple(inbox)).Handle("t", (delivery, _) =>
        {
            outbox.Add(delivery);
            return Task.CompletedTask;
        });
        await Enqueue("1", "t", "in");
        await Bed.Outbox.EnqueueAsync("t", "out");
        await Enqueue("2", "nobody", "");
        Assert.Equal(2, await worker.DrainAsync());
        Assert.Equal(("in", "1", "src"), (Assert.Single(inbox).Payload, inbox[0].MessageId, inbox[0].Source));
        Assert.Equal(("out", WaypostQueue.Outbox), (Assert.Single(outbox).Payload, outbox[0].Queue));
        Assert.Null(outbox[0].Inbox);
        Assert.Equal(OutboxMessageStatus.Done, await StatusAsync("1"));
        Assert.Equal(OutboxMessageStatus.Ready, await StatusAsync("2"));
        Assert.Throws<ArgumentNullException>(() => worker.Handle((IInboxHandler)null!));
        Assert.Throws<InvalidOperationException>(() => worker.Handle(new Simple(inbox)));
    }

    // scenario: INB-013
    // proves: IBX-075, IBX-083, IBX-111
    [Fact]
    public async Task Handler_that_throws_rejects_or_completes_in_the_apps_transaction()
    {
        DbConnection connection = Bed.Connect();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", async (delivery, token) =>
        {
            switch (delivery.Payload)
            {
                case "throw": throw new FormatException("broken");
                case "reject": throw new RejectException("never");
            }
            bool commit = delivery.Payload == "commit";
            await using DbTransaction transaction = await connection.BeginTransactionAsync(token);
            Bed.InsertOrder(connection, transaction);
            await delivery.Inbox!.CompleteAsync(transaction, token);
            if (commit)
                await transaction.CommitAsync(token);
        }, new OutboxWorkerOptions { BackoffBase = 1000 * Second, BackoffMax = 1000 * Second }, WaypostQueue.Inbox);
        foreach (string id in new[] { "throw", "reject", "commit", "roll back" })
            await Enqueue(id, "t", id);
        Assert.Equal(4, await worker.DrainAsync());
        OutboxMessageInfo thrown = await Inbox.GetAsync(Key("throw"));
        Assert.Equal((OutboxMessageStatus.Ready, 1, "FormatException: broken"), (thrown.Status, thrown.Message.Attempt, thrown.LastError));
        OutboxMessageInfo rejected = await Inbox.GetAsync(Key("reject"));
        Assert.Equal((OutboxMessageStatus.Failed, "never"), (rejected.Status, rejected.LastError));
        Assert.Equal(OutboxMessageStatus.Done, await StatusAsync("commit"));
        Assert.Equal((OutboxMessageStatus.Ready, 1), ((await Inbox.GetAsync(Key("roll back"))).Status, await Bed.OrdersAsync()));
    }

    // scenario: INB-014
    // proves: IBX-091, IBX-092
    [Fact]
    public async Task Router_gives_the_inbox_of_a_key()
    {
        Guid id = Guid.NewGuid();
        using var router = new WaypostRouter(logger: Quiet.Instance);
        router.Set([new WaypostOptions { Url = Bed.Url, StoreId = id.ToString() }]);
        IInboxRouter inboxes = router;
        await inboxes.GetInbox(id).EnqueueAsync("t", "src", "1", "x");
        Assert.Equal("x", (await Inbox.GetAsync(Key("1"))).Message.Payload);
        Assert.Same(inboxes.GetInbox(id), inboxes.GetInbox(id.ToString()));
        Assert.Contains("none", Assert.Throws<InvalidOperationException>(() => inboxes.GetInbox("none")).Message);
        Assert.Throws<ArgumentNullException>(() => inboxes.GetInbox(null!));
    }

    // scenario: INB-015
    // proves: IBX-001
    [Fact]
    public async Task Two_consumers_of_one_message_each_process_it_once()
    {
        DbConnection connection = Bed.Connect();
        foreach (string? consumer in new[] { "mails", "bills", null })
        {
            var key = new InboxKey("1", "src") { Consumer = consumer };
            Task Nothing(DbTransaction _, CancellationToken token) => Task.CompletedTask;
            Assert.True((await Inbox.ProcessOnceAsync(key, connection, Nothing)).Proceed);
            Assert.Equal(InboxState.Done, (await Inbox.ProcessOnceAsync(key, connection, Nothing)).Found);
        }
        Assert.Equal(InboxState.Done, (await Inbox.CheckAsync(new InboxKey("1", "src") { Consumer = "" })).Found);
    }

    [Fact]
    public async Task Calls_after_the_store_was_closed_say_so()
    {
        WaypostStore store = Bed.Open();
        store.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => store.Inbox.AlreadyProcessedAsync("1", "src"));
        await Assert.ThrowsAsync<ObjectDisposedException>(() => store.Inbox.ListDeadLettersAsync());
        Assert.Throws<ObjectDisposedException>(() => store.Inbox.Counters);
    }
}

public sealed class InboxOnSqlite() : InboxTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class InboxOnPostgreSql() : InboxTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class InboxOnMariaDb() : InboxTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class InboxOnSqlServer() : InboxTests(Engine.SqlServer);
