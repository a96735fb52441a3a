// SPDX-License-Identifier: Apache-2.0
// Leases and semaphores: scenarios LEA-001 to LEA-009 of tests/conformance/scenarios.md.
using System.Data.Common;
using System.Runtime.CompilerServices;

namespace Waypost.Tests;

public abstract class LeaseTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly DateTimeOffset Now = Bed.Now;

    protected Bed Bed { get; } = new(engine);
    private ILeases Leases => Bed.Store.Leases;
    private ISemaphores Semaphores => Bed.Store.Semaphores;

    public void Dispose() => Bed.Dispose();

    /// <summary>The leases of a kind; a semaphore has one slot.</summary>
    private async Task<ILeases> OfAsync(string kind)
    {
        if (kind == "lease")
            return Leases;
        await Semaphores.SetLimitAsync("n", 1);
        return Semaphores;
    }

    // ---- by hand ----------------------------------------------------------------------------

    // scenario: LEA-001
    // proves: LSE-001
    [Fact]
    public async Task Granted_when_free_expired_or_ours_and_otherwise_refused()
    {
        LeaseInfo first = await Leases.AcquireOnceAsync("n", "me", 10 * Second);
        Assert.Equal((true, Now, Now + 10 * Second, "me"), (first.Granted, first.NowUtc, first.UntilUtc, first.Owner));
        LeaseInfo refused = await Leases.AcquireOnceAsync("n", "you", 10 * Second);
        Assert.Equal((false, Now + 10 * Second, "me"), (refused.Granted, refused.UntilUtc, refused.Owner));
        LeaseInfo again = await Leases.AcquireOnceAsync("n", "me", 20 * Second);
        Assert.Equal((true, true), (again.Granted, again.Fence > first.Fence));
        Assert.True((await Leases.AcquireOnceAsync("other", "you", Second)).Granted);
        Bed.Clock.Advance(20 * Second);
        LeaseInfo yours = await Leases.AcquireOnceAsync("n", "you", 10 * Second);
        Assert.Equal((true, true), (yours.Granted, yours.Fence > again.Fence));
        LeaseInfo asked = await Leases.GetAsync("n");
        Assert.Equal((false, "you", yours.Fence, 1L, 1L), (asked.Granted, asked.Owner, asked.Fence, asked.Limit, asked.Holders));
        await Assert.ThrowsAsync<NotFoundException>(() => Leases.GetAsync("never"));
    }

    // scenario: LEA-002
    // proves: LSE-002, LSE-003, LSE-004
    [Fact]
    public async Task Renewed_only_while_held_and_fences_rise_for_ever()
    {
        LeaseInfo held = await Leases.AcquireOnceAsync("n", "me", 10 * Second);
        Bed.Clock.Advance(5 * Second);
        Assert.Equal(Now + 15 * Second, (await Leases.RenewAsync("n", "me", held.Fence, 10 * Second)).UntilUtc);
        await Assert.ThrowsAsync<LeaseLostException>(() => Leases.RenewAsync("n", "you", 0, 10 * Second));
        await Assert.ThrowsAsync<LeaseLostException>(() => Leases.RenewAsync("n", "me", held.Fence + 1, 10 * Second));
        Assert.False(await Leases.ReleaseAsync("n", "you"));
        Assert.True(await Leases.ReleaseAsync("n", "me", held.Fence));
        Assert.False(await Leases.ReleaseAsync("n", "me", held.Fence));
        await Assert.ThrowsAsync<LeaseLostException>(() => Leases.RenewAsync("n", "me", 0, 10 * Second));
        long last = held.Fence;
        for (int n = 0; n < 5; n++)
        {
            LeaseInfo next = await Leases.AcquireOnceAsync("n", "me", Second);
            Assert.True(next.Fence > last);
            last = next.Fence;
            await Leases.ReleaseAsync("n", "me");
            if (n == 3)
                Assert.Equal(1, await Leases.CleanupAsync(TimeSpan.Zero));
        }
        await Leases.AcquireOnceAsync("n", "me", Second);
        Bed.Clock.Advance(Second);
        await Assert.ThrowsAsync<LeaseLostException>(() => Leases.RenewAsync("n", "me", 0, Second));
    }

    // scenario: LEA-003
    // proves: LSE-001, BND-002
    [Fact]
    public async Task In_the_apps_transaction_it_is_held_when_that_commits()
    {
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            LeaseInfo held = await Leases.AcquireOnceAsync("n", "me", 10 * Second, transaction);
            Assert.True(held.Granted);
            Assert.Equal(Now + 20 * Second, (await Leases.RenewAsync("n", "me", held.Fence, 20 * Second, transaction)).UntilUtc);
            Assert.Equal("me", (await Leases.GetAsync("n", transaction)).Owner);
            await Semaphores.SetLimitAsync("s", 3, transaction);
            Assert.True((await Semaphores.AcquireOnceAsync("s", "r", Second, transaction)).Granted);
            if (n == 0)
                await transaction.RollbackAsync();
            else
                await transaction.CommitAsync();
            if (n == 0)
            {
                await Assert.ThrowsAsync<NotFoundException>(() => Leases.GetAsync("n"));
                await Assert.ThrowsAsync<NotFoundException>(() => Semaphores.GetAsync("s"));
            }
        }
        Assert.False((await Leases.AcquireOnceAsync("n", "you", Second)).Granted);
        Assert.Equal((3L, 1L), ((await Semaphores.GetAsync("s")).Limit, (await Semaphores.GetAsync("s")).Holders));
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            Assert.False(await Leases.ReleaseAsync("n", "you", 0, transaction));
            Assert.True(await Leases.ReleaseAsync("n", "me", 0, transaction));
            await Assert.ThrowsAsync<LeaseLostException>(() => Leases.RenewAsync("n", "me", 0, Second, transaction));
            await transaction.RollbackAsync();
        }
        Assert.Equal("me", (await Leases.GetAsync("n")).Owner);
    }

    // ---- kept -------------------------------------------------------------------------------

    // scenario: LEA-004
    // proves: LSE-005
    [Theory]
    [InlineData("lease")]
    [InlineData("slot")]
    public async Task Kept_it_renews_itself_and_taken_by_another_it_is_lost_once(string kind)
    {
        ILeases leases = await OfAsync(kind);
        await using Lease lease = await leases.AcquireAsync("n", 10 * Second);
        await using Lease other = await Leases.AcquireAsync("other", 10 * Second);
        int told = 0;
        lease.Lost.Register(() => Interlocked.Increment(ref told));
        for (long n = 1; n <= 5; n++) // longer than its duration
        {
            long renewed = leases.Counters.Renewed;
            Bed.Clock.Advance(6 * Second);
            await Bed.UntilAsync(() => leases.Counters.Renewed >= renewed + 2);
            lease.ThrowIfLost();
        }
        LeaseCounters counters = leases.Counters;
        Assert.InRange(counters.Batches, 5, counters.Renewed + counters.Errors); // none for nothing
        Assert.True(lease.IsHeld);
        Assert.False(lease.Lost.IsCancellationRequested);

        Assert.True(await leases.ReleaseAsync("n", lease.Owner)); // as if it had slept, and another one took it
        LeaseInfo thief = await leases.AcquireOnceAsync("n", "thief", TimeSpan.FromDays(1));
        Assert.True(thief.Granted && thief.Fence > lease.Fence);
        Bed.Clock.Advance(6 * Second);
        await Bed.UntilAsync(() => Volatile.Read(ref told) == 1);
        Assert.True(lease.Lost.IsCancellationRequested);
        Assert.False(lease.IsHeld);
        Assert.Equal(TimeSpan.Zero, lease.Remaining);
        Assert.Throws<LeaseLostException>(lease.ThrowIfLost);
        await Assert.ThrowsAsync<LeaseLostException>(() => lease.RenewAsync());
        await lease.DisposeAsync();
        Assert.Equal((1, 1L), (told, leases.Counters.Lost));
        Assert.True(other.IsHeld);
        Assert.Equal(1, (await leases.GetAsync("n")).Holders); // the thief's stays
    }

    // scenario: LEA-005
    // proves: LSE-007
    [Theory]
    [InlineData("lease")]
    [InlineData("slot")]
    public async Task Acquire_with_wait_gets_it_when_it_is_released_and_without_says_who_has_it(string kind)
    {
        ILeases leases = await OfAsync(kind);
        Lease held = await leases.AcquireAsync("n", 60 * Second, owner: "me");
        LeaseHeldException refused = await Assert.ThrowsAsync<LeaseHeldException>(() => leases.AcquireAsync("n", 60 * Second));
        Assert.Equal((false, Now + 60 * Second), (refused.Holder.Granted, refused.Holder.UntilUtc));
        Assert.Contains(kind == "lease" ? "held by me" : "1 holders of 1", refused.Message);
        await Assert.ThrowsAsync<LeaseHeldException>(() => leases.AcquireAsync("n", 60 * Second, TimeSpan.FromMilliseconds(30)));
        Assert.Null(await leases.TryAcquireAsync("n", 60 * Second));
        using var cancelled = new CancellationTokenSource();
        Task<Lease> hopeless = leases.AcquireAsync("n", 60 * Second, Timeout.InfiniteTimeSpan, cancelled.Token);
        await cancelled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => hopeless);

        Task<Lease> waiting = leases.AcquireAsync("n", 60 * Second, Bed.Patience);
        await held.DisposeAsync();
        await using Lease next = await waiting;
        Assert.True(next.Fence > held.Fence);
        Assert.NotEqual(held.Owner, next.Owner);
    }

    // scenario: LEA-006
    // proves: LSE-003, LSE-006
    [Theory]
    [InlineData("lease")]
    [InlineData("slot")]
    public async Task Renewed_by_hand_it_lasts_from_now_and_is_released_on_leaving_its_scope(string kind)
    {
        ILeases leases = await OfAsync(kind);
        Lease lease;
        await using (lease = await leases.AcquireAsync("n", 10 * Second))
        {
            Assert.Equal(("n", 9 * Second), (lease.Name, lease.Remaining)); // but for the guard
            Bed.Clock.Advance(4 * Second);
            await lease.RenewAsync();
            Assert.Equal(9 * Second, lease.Remaining);
        }
        Assert.True((await leases.AcquireOnceAsync("n", "you", Second)).Granted);
        Assert.False(lease.Lost.IsCancellationRequested);
        Assert.False(lease.IsHeld);
        Assert.Equal(TimeSpan.Zero, lease.Remaining);
        Assert.Equal(typeof(Lease).FullName,
                     Assert.Throws<ObjectDisposedException>(lease.ThrowIfLost).ObjectName);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => lease.RenewAsync());
        await lease.DisposeAsync();
        lease.Dispose();
        Assert.Equal(0, leases.Counters.Held);
    }

    // scenario: LEA-007
    // proves: SEM-001
    [Fact]
    public async Task Semaphore_has_never_more_holders_than_its_limit()
    {
        await Assert.ThrowsAsync<NotFoundException>(() => Semaphores.AcquireAsync("n", Second));
        await Assert.ThrowsAsync<NotFoundException>(() => Semaphores.AcquireOnceAsync("n", "r", Second));
        await Semaphores.SetLimitAsync("n", 2);
        Assert.True((await Semaphores.AcquireOnceAsync("n", "r", 10 * Second)).Granted);
        LeaseInfo again = await Semaphores.AcquireOnceAsync("n", "r", 10 * Second);
        Assert.Equal((true, 1L, 2L), (again.Granted, again.Holders, again.Limit));
        Lease second = await Semaphores.AcquireAsync("n", 10 * Second);
        Assert.Null(await Semaphores.TryAcquireAsync("n", 10 * Second));
        await Semaphores.SetLimitAsync("n", 1);
        Assert.True(second.IsHeld);
        await second.DisposeAsync();
        Assert.Null(await Semaphores.TryAcquireAsync("n", 10 * Second));
        await Semaphores.SetLimitAsync("n", 3);

        int holders = 0, most = 0;
        await Task.WhenAll(Enumerable.Range(0, 6).Select(async _ =>
        {
            await using Lease slot = await Semaphores.AcquireAsync("n", TimeSpan.FromHours(1), Bed.Patience);
            int now = Interlocked.Increment(ref holders);
            InterlockedMax(ref most, now);
            await Task.Yield();
            Interlocked.Decrement(ref holders);
        }));
        Assert.InRange(most, 1, 2); // "r" has the third

        static void InterlockedMax(ref int place, int value)
        {
            int seen;
            while ((seen = Volatile.Read(ref place)) < value && Interlocked.CompareExchange(ref place, value, seen) != seen)
            {
            }
        }
    }

    // scenario: LEA-008
    // proves: LSE-008, BND-004
    [Fact]
    public async Task Bad_arguments_are_errors_that_name_the_argument()
    {
        string full = new('n', 255);
        Assert.True((await Leases.AcquireOnceAsync(full, full, Second)).Granted);
        foreach (string bad in new[] { "", full + "n" })
        {
            await Names("name", () => Leases.AcquireAsync(bad, Second));
            await Names("name", () => Leases.AcquireOnceAsync(bad, "me", Second));
            await Names("owner", () => Leases.AcquireOnceAsync("n", bad, Second));
            await Names("name", () => Semaphores.SetLimitAsync(bad, 1));
        }
        await Range("duration", () => Leases.AcquireAsync("n", TimeSpan.FromMilliseconds(99)));
        await Range("duration", () => Leases.AcquireOnceAsync("n", "me", TimeSpan.Zero));
        await Range("duration", () => Leases.AcquireOnceAsync("n", "me", TimeSpan.FromDays(1) + Second));
        await Range("limit", () => Semaphores.SetLimitAsync("n", -1));
        await Range("limit", () => Semaphores.SetLimitAsync("n", 1_000_001));
        await Range("wait", () => Leases.AcquireAsync("n", Second, -Second));
        Assert.Equal("name", (await Assert.ThrowsAsync<ArgumentNullException>(() => Leases.AcquireAsync(null!, Second))).ParamName);
        Assert.Equal("owner", (await Assert.ThrowsAsync<ArgumentNullException>(() => Leases.ReleaseAsync("n", null!))).ParamName);
        Assert.Equal("work", (await Assert.ThrowsAsync<ArgumentNullException>(() => Leases.RunAsLeaderAsync("n", Second, null!))).ParamName);
        await Assert.ThrowsAsync<NotFoundException>(() => Leases.GetAsync("n"));

        static async Task Names(string what, Func<Task> call) => Assert.Contains(
            what, (await Assert.ThrowsAsync<ArgumentException>(call)).Message, StringComparison.Ordinal);

        static async Task Range(string what, Func<Task> call) => Assert.Contains(
            what, (await Assert.ThrowsAsync<ArgumentOutOfRangeException>(call)).Message, StringComparison.Ordinal);
    }

    // ---- in .NET ----------------------------------------------------------------------------

    // scenario: LEA-009
    // proves: LSE-004, LSE-005
    [Fact]
    public async Task Leader_works_again_after_it_lost_its_lease_and_won_it_back()
    {
        var terms = new List<long>();
        var working = new SemaphoreSlim(0);
        Task leading = Leases.RunAsLeaderAsync("n", 10 * Second, async (lease, token) =>
        {
            terms.Add(lease.Fence);
            working.Release();
            if (terms.Count == 1)
                await Task.Delay(Timeout.Infinite, token);
        });
        Assert.True(await working.WaitAsync(Bed.Patience));
        Assert.True(await Leases.ReleaseAsync("n", (await Leases.GetAsync("n")).Owner));
        Assert.True((await Leases.AcquireOnceAsync("n", "thief", 30 * Second)).Granted);
        Bed.Clock.Advance(6 * Second); // it finds out
        await Bed.UntilAsync(() => Leases.Counters.Lost == 1);
        await Leases.ReleaseAsync("n", "thief");
        await leading.WaitAsync(Bed.Patience);
        Assert.Equal(2, terms.Count);
        Assert.True(terms[1] > terms[0]);
        Assert.True((await Leases.AcquireOnceAsync("n", "you", Second)).Granted);

        await Assert.ThrowsAsync<FormatException>(() => Leases.RunAsLeaderAsync(
            "m", 10 * Second, (_, _) => throw new FormatException("broken")));
        using var stop = new CancellationTokenSource();
        Task stopped = Leases.RunAsLeaderAsync("m", 10 * Second, async (_, token) =>
        {
            working.Release();
            await Task.Delay(Timeout.Infinite, token);
        }, stop.Token);
        Assert.True(await working.WaitAsync(Bed.Patience));
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stopped);
        Assert.True((await Leases.AcquireOnceAsync("m", "you", Second)).Granted);
    }

    // scenario: LEA-009
    // proves: LSE-005
    [Theory]
    [InlineData("returns")]
    [InlineData("fails")]
    public async Task Leader_whose_work_ends_by_itself_after_a_loss_begins_anew_unless_it_failed(string how)
    {
        int terms = 0;
        Task leading = Leases.RunAsLeaderAsync("n", 10 * Second, async (lease, token) =>
        {
            if (++terms == 2)
                return;
            Assert.True(await Leases.ReleaseAsync("n", lease.Owner));
            Bed.Clock.Advance(6 * Second);
            await Bed.UntilAsync(() => token.IsCancellationRequested);
            if (how == "fails")
                throw new FormatException("on purpose");
        });
        if (how == "fails")
            await Assert.ThrowsAsync<FormatException>(() => leading.WaitAsync(Bed.Patience));
        else
            await leading.WaitAsync(Bed.Patience);
        Assert.Equal(how == "fails" ? 1 : 2, terms);
    }

    /// <summary>So what a try acquired whose answer was lost is the next one's.</summary>
    // proves: LSE-001, LSE-007
    [Fact]
    public async Task All_tries_of_an_acquire_are_of_one_owner()
    {
        if (Bed.Store.Engine != "sqlite")
            return; // the trigger is SQLite's
        await (await Leases.AcquireAsync("n", Second)).DisposeAsync();
        Bed.Execute("CREATE TABLE tried (owner TEXT)");
        Bed.Execute( // a try asks up to 20 times
            "CREATE TRIGGER trouble BEFORE INSERT ON infra_lease WHEN (SELECT count(*) FROM tried) < 50 "
            + "BEGIN INSERT INTO tried VALUES (NEW.owner); SELECT RAISE(IGNORE); END");
        await (await Leases.AcquireAsync("n", 60 * Second, Bed.Patience)).DisposeAsync();
        using DbCommand command = Bed.Connect().CreateCommand();
        command.CommandText = "SELECT 1000 * count(*) + count(DISTINCT owner) FROM tried";
        Assert.Equal(50_001L, command.ExecuteScalar());
    }

    // proves: LSE-007
    [Fact]
    public async Task Those_who_wait_are_woken_by_each_release()
    {
        Turns turns = Bed.Store.Handle.LeaseWatch.Turns;
        var name = (Interop.wp_lease_kind.WP_LEASE_EXCLUSIVE, "n");
        using Turn first = new(turns, name), second = new(turns, name);
        first.Take();
        second.Take();
        using (var third = new Turn(turns, name))
        {
            third.Take();
            for (int release = 0; release < 3; release++)
                await (await Leases.AcquireAsync("n", 10 * Second)).DisposeAsync();
            await (await Leases.AcquireAsync("other", 10 * Second)).DisposeAsync();
        } // it tries no more
        TimeSpan never = TimeSpan.FromHours(1);
        await first.WaitAsync(never, default).WaitAsync(Bed.Patience);
        await second.WaitAsync(never, default).WaitAsync(Bed.Patience);
        first.Take();
        second.Take();
        using (var third = new Turn(turns, name))
        {
            third.Take();
            for (int release = 0; release < 2; release++)
                await (await Leases.AcquireAsync("n", 10 * Second)).DisposeAsync();
            first.Take();
            await (await Leases.AcquireAsync("n", 10 * Second)).DisposeAsync();
        } // woken in vain: the first is told, who waits again
        await first.WaitAsync(never, default).WaitAsync(Bed.Patience);
        first.Take();
        using var cancelled = new CancellationTokenSource(TimeSpan.FromMilliseconds(20));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first.WaitAsync(never, cancelled.Token));
    }

    // proves: LSE-005
    [Fact]
    public async Task Callback_of_a_lost_lease_that_throws_or_blocks_holds_up_no_other()
    {
        await using Lease throws = await Leases.AcquireAsync("throws", 10 * Second);
        await using Lease blocks = await Leases.AcquireAsync("blocks", 10 * Second);
        await using Lease third = await Leases.AcquireAsync("third", 10 * Second);
        using var go = new ManualResetEventSlim();
        throws.Lost.Register(() => throw new FormatException("on purpose"));
        blocks.Lost.Register(() => go.Wait(Bed.Patience));
        foreach (Lease lease in new[] { throws, blocks, third })
            Assert.True(await Leases.ReleaseAsync(lease.Name, lease.Owner));
        Bed.Clock.Advance(6 * Second);
        await Bed.UntilAsync(() => third.Lost.IsCancellationRequested);
        await Bed.UntilAsync(() => throws.Lost.IsCancellationRequested && blocks.Lost.IsCancellationRequested);
        go.Set();
    }

    // proves: LSE-005
    [Fact]
    public async Task Lease_asked_while_it_is_released_says_no_and_throws_nothing()
    {
        for (int round = 0; round < 20; round++)
        {
            Lease lease = await Leases.AcquireAsync("n", TimeSpan.FromHours(1), Bed.Patience);
            Task asking = Task.Run(() =>
            {
                while (lease.IsHeld)
                    _ = lease.Remaining;
            });
            await Task.WhenAll(lease.DisposeAsync().AsTask(), Task.Run(lease.Dispose));
            await asking;
        }
        Assert.Equal(0, Leases.Counters.Held);
    }

    // proves: LSE-003
    [Fact]
    public async Task Lease_that_was_forgotten_is_released()
    {
        await ForgetAsync();
        await Bed.UntilAsync(async () =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return (await Leases.AcquireOnceAsync("n", "you", Second)).Granted;
        });
        Assert.Equal(0, Leases.Counters.Held);

        [MethodImpl(MethodImplOptions.NoInlining)]
        async Task ForgetAsync() => Assert.True((await Leases.AcquireAsync("n", 60 * Second)).IsHeld);
    }

    // proves: LSE-005
    [Fact]
    public async Task Lease_outlives_the_close_of_its_store_and_is_told_of_its_loss()
    {
        WaypostStore store = Bed.Open();
        await using Lease lease = await store.Leases.AcquireAsync("n", 10 * Second);
        store.Dispose();
        Assert.True(lease.IsHeld);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => store.Leases.AcquireAsync("m", Second));
        Assert.True(await Leases.ReleaseAsync("n", lease.Owner));
        Bed.Clock.Advance(6 * Second);
        await Bed.UntilAsync(() => lease.Lost.IsCancellationRequested);
    }

    // proves: LSE-005
    [Fact]
    public async Task Many_are_taken_and_released_at_once_and_none_is_left()
    {
        await Task.WhenAll(Enumerable.Range(0, 20).Select(async n =>
        {
            for (int round = 0; round < 3; round++)
            {
                await using Lease lease = await Leases.AcquireAsync($"n{n % 7}", TimeSpan.FromHours(1), Bed.Patience);
                lease.ThrowIfLost();
            }
        }));
        Assert.Equal(0, Leases.Counters.Held);
    }
}

public sealed class LeasesOnSqlite() : LeaseTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class LeasesOnPostgreSql() : LeaseTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class LeasesOnMariaDb() : LeaseTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class LeasesOnSqlServer() : LeaseTests(Engine.SqlServer);
