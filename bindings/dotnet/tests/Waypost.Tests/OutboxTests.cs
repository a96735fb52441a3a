// SPDX-License-Identifier: Apache-2.0
// The outbox by hand: scenarios OUT-001 to OUT-038 of tests/conformance/scenarios.md.
using System.Data.Common;

namespace Waypost.Tests
{
    public abstract class OutboxTests(Engine engine) : IDisposable
    {
        private static readonly TimeSpan Second = Bed.Second;
        private static readonly DateTimeOffset Now = Bed.Now;

        protected Bed Bed { get; } = new(engine);
        private IOutbox Outbox => Bed.Outbox;

        public void Dispose() => Bed.Dispose();

        private async Task<Guid> Enqueue(NewOutboxMessage message) =>
            (await Outbox.EnqueueAsync(message)).Id;

        // ---- enqueue ------------------------------------------------------------------------

        // scenario: OUT-001
        // proves: OBX-001, OBX-003, BND-002
        [Fact]
        public async Task Enqueue_in_transaction_is_seen_after_the_commit()
        {
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await Outbox.EnqueueAsync("a", "1", transaction);
            Assert.Equal(0, await Bed.CountAsync());
            await transaction.CommitAsync();
            Assert.Equal(["1"], await Bed.ClaimPayloadsAsync());
        }

        // scenario: OUT-002
        // proves: OBX-001, OBX-003
        [Fact]
        public async Task Enqueue_in_transaction_rolled_back_leaves_no_trace()
        {
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Guid id = await Outbox.EnqueueAsync("a", "1", transaction);
            await transaction.RollbackAsync();
            Assert.Equal(0, await Bed.CountAsync());
            Assert.Null(await Outbox.FindAsync(id));
            await Assert.ThrowsAsync<NotFoundException>(() => Outbox.GetAsync(id));
        }

        // scenario: OUT-002
        // proves: OBX-001
        [Fact]
        public async Task Enqueue_in_transaction_disposed_without_commit_leaves_no_trace()
        {
            DbConnection connection = Bed.Connect();
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
                await Outbox.EnqueueAsync("a", "1", transaction);
            Assert.Equal(0, await Bed.CountAsync());
        }

        // scenario: OUT-003
        // proves: OBX-001
        [Fact]
        public async Task Enqueue_rolled_back_to_a_savepoint_is_gone_and_the_earlier_stays()
        {
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await Outbox.EnqueueAsync("kept", "1", transaction);
            await transaction.SaveAsync("s");
            await Outbox.EnqueueAsync("gone", "2", transaction);
            await transaction.RollbackAsync("s");
            await Outbox.EnqueueAsync("after", "3", transaction);
            await transaction.CommitAsync();
            Assert.Equal(["after", "kept"], await Bed.TopicsAsync());
        }

        // scenario: OUT-004
        // proves: OBX-002
        [Fact]
        public async Task Enqueue_without_transaction_is_durable_at_once()
        {
            Guid id = await Outbox.EnqueueAsync("a", "1");
            OutboxMessageInfo info = await Bed.Open().Outbox.GetAsync(id);
            Assert.Equal(OutboxMessageStatus.Ready, info.Status);
        }

        // scenario: OUT-005
        // proves: OBX-003
        [Fact]
        public async Task Row_and_message_commit_together_and_the_transaction_stays_the_apps()
        {
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Bed.InsertOrder(connection, transaction);
            await Outbox.EnqueueAsync("a", "1", transaction);
            Bed.InsertOrder(connection, transaction);
            Assert.Equal(0, await Bed.OrdersAsync());
            await transaction.CommitAsync();
            Assert.Equal(2, await Bed.OrdersAsync());
            Assert.Equal(["a"], await Bed.TopicsAsync());
        }

        // scenario: OUT-006
        // proves: OBX-111
        [Fact]
        public async Task Batch_gives_an_id_for_each_message_in_order()
        {
            var made = await Outbox.EnqueueManyAsync(
                Enumerable.Range(0, 100).Select(n => new NewOutboxMessage("a", $"{n}")));
            Assert.Equal(100, made.Select(one => one.Id).Distinct().Count());
            Assert.Equal(made.Select(one => one.Id), (await Bed.ClaimAsync()).Select(m => m.Id));
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            NewOutboxMessage[] two = [new("b", "1"), new("b", "2")];
            Assert.Equal(2, (await Outbox.EnqueueManyAsync(two, transaction)).Count);
            Assert.Empty(await Outbox.EnqueueManyAsync([], transaction));
            await transaction.RollbackAsync();
            Assert.Equal(["a"], await Bed.TopicsAsync());
            Assert.Empty(await Outbox.EnqueueManyAsync([]));
        }

        // scenario: OUT-007
        // proves: OBX-111
        [Fact]
        public async Task Batch_with_one_bad_message_stores_nothing()
        {
            NewOutboxMessage[] bad = [new("a", "1"), new("", "2")];
            await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueManyAsync(bad));
            DbConnection connection = Bed.Connect();
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await Assert.ThrowsAsync<ArgumentException>(
                () => Outbox.EnqueueManyAsync(bad, transaction));
            await transaction.CommitAsync();
            Assert.Equal(0, await Bed.CountAsync());
        }

        // scenario: OUT-008
        // proves: OBX-004..006, BND-004
        [Fact]
        public async Task Empty_payload_is_legal_and_null_or_empty_arguments_are_not()
        {
            await Outbox.EnqueueAsync("a", "");
            await Outbox.EnqueueAsync(new NewOutboxMessage("a", ReadOnlyMemory<byte>.Empty));
            Assert.Equal(["", ""], await Bed.ClaimPayloadsAsync());
            Assert.Equal("payload", (await Assert.ThrowsAsync<ArgumentNullException>(
                () => Outbox.EnqueueAsync("a", null!))).ParamName);
            Assert.Equal("topic", (await Assert.ThrowsAsync<ArgumentNullException>(
                () => Outbox.EnqueueAsync(null!, "x"))).ParamName);
            var empty = await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync("", "x"));
            Assert.Contains("topic", empty.Message);
        }

        // scenario: OUT-009
        // proves: OBX-007
        [Theory]
        [InlineData("a", 1)]
        [InlineData("\u00e9", 1)]
        [InlineData("\U0001f600", 2)]
        public async Task Topic_of_255_units_passes_and_of_256_does_not(string character, int units)
        {
            string topic = string.Concat(Enumerable.Repeat(character, 255 / units))
                + new string('a', 255 % units);
            await Outbox.EnqueueAsync(topic, "1");
            Assert.Equal(topic, Assert.Single(await Bed.ClaimAsync()).Topic);
            var error = await Assert.ThrowsAsync<ArgumentException>(
                () => Outbox.EnqueueAsync(topic + "a", "1"));
            Assert.Contains("topic", error.Message);
        }

        // scenario: OUT-010
        // proves: OBX-008, OBX-009
        [Fact]
        public async Task Correlation_id_of_255_units_passes_and_an_empty_one_is_none()
        {
            string emoji = string.Concat(Enumerable.Repeat("\U0001f600", 127));
            foreach (string? id in new[] { new string('c', 255), emoji, "", null })
                await Outbox.EnqueueAsync("a", "1", correlationId: id);
            Assert.Equal([new string('c', 255), emoji, null, null],
                         (await Bed.ClaimAsync()).Select(message => message.CorrelationId));
            foreach (string id in new[] { new string('c', 256), emoji + "\U0001f600" })
            {
                var error = await Assert.ThrowsAsync<ArgumentException>(
                    () => Outbox.EnqueueAsync("a", "1", correlationId: id));
                Assert.Contains("correlation", error.Message);
            }
        }

        // scenario: OUT-011
        // proves: OBX-010
        [Fact]
        public async Task Topics_that_nearly_look_alike_are_different()
        {
            string[] alike = ["a", "A", "a ", " a", "\u00e9", "e\u0301"];
            foreach (string topic in alike)
                await Outbox.EnqueueAsync(topic, "1");
            foreach (string topic in alike)
                Assert.Equal(topic, Assert.Single(await Bed.ClaimAsync(topics: [topic])).Topic);
        }

        public static TheoryData<string> Payloads => new()
        {
            "{}",
            "\U0001f600 emoji, \u202e bidi, \ufeff bom",
            "line\r\nline\ttab",
            "'; DROP TABLE orders; --",
            "\u0001\u001f\u007f\uffff",
        };

        // scenario: OUT-012
        // proves: OBX-011, OBX-096
        [Theory]
        [MemberData(nameof(Payloads))]
        public Task Payload_comes_back_byte_for_byte(string payload) => RoundTrip(payload);

        // scenario: OUT-012
        // proves: OBX-011, OBX-096
        [Fact]
        public async Task Large_payload_comes_back_byte_for_byte()
        {
            await RoundTrip(new string('x', 5 * 1024 * 1024));
            await RoundTrip(string.Concat(Enumerable.Repeat("\U0001f600", 262144)));
        }

        private async Task RoundTrip(string payload)
        {
            byte[] utf8 = System.Text.Encoding.UTF8.GetBytes(payload);
            DbConnection connection = Bed.Connect();
            await Outbox.EnqueueAsync("a", payload);
            await Outbox.EnqueueAsync(new NewOutboxMessage("a", utf8));
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                await Outbox.EnqueueAsync("a", payload, transaction);
                await Outbox.EnqueueAsync(new NewOutboxMessage("a", utf8), transaction);
                await transaction.CommitAsync();
            }
            var messages = await Bed.ClaimAsync();
            Assert.Equal(4, messages.Count);
            Assert.All(messages, message => Assert.True(message.Payload == payload));
            Assert.All(messages, message => Assert.True(message.Utf8Payload.Span.SequenceEqual(utf8)));
        }

        // scenario: OUT-013
        // proves: OBX-112
        [Fact]
        public async Task Headers_come_back_as_they_were_set()
        {
            var headers = new Dictionary<string, string>
            {
                ["traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                ["empty"] = "",
                ["\"quoted\""] = "a \"value\"\n",
                ["emoji \U0001f600"] = "\U0001f600",
            };
            await Enqueue(new("a", "1") { Headers = headers });
            await Enqueue(new("a", "2"));
            await Enqueue(new("a", "3") { Headers = new Dictionary<string, string>() });
            var messages = await Bed.ClaimAsync();
            Assert.Equal(headers, messages[0].Headers);
            Assert.Empty(messages[1].Headers);
            Assert.Empty(messages[2].Headers);
        }

        // scenario: OUT-014
        // proves: OBX-012, OBX-013
        [Fact]
        public async Task Due_and_delay_hide_the_message_until_then()
        {
            await Outbox.EnqueueAsync("due", "1", dueTimeUtc: Now + 10 * Second);
            await Enqueue(new("delay", "1") { Delay = 20 * Second });
            await Outbox.EnqueueAsync("past", "1", dueTimeUtc: Now - 10 * Second);
            await Enqueue(new("now", "1") { Delay = TimeSpan.Zero });
            Assert.Equal(["now", "past"], (await Bed.ClaimAsync()).Select(m => m.Topic).Order());
            Bed.Clock.Advance(10 * Second - TimeSpan.FromMicroseconds(1));
            Assert.Empty(await Bed.ClaimAsync());
            Bed.Clock.Advance(TimeSpan.FromMicroseconds(1));
            Assert.Equal("due", Assert.Single(await Bed.ClaimAsync()).Topic);
            Bed.Clock.Advance(10 * Second);
            Assert.Equal("delay", Assert.Single(await Bed.ClaimAsync()).Topic);
        }

        // scenario: OUT-015
        // proves: OBX-014..016
        [Fact]
        public async Task Attributes_on_arrival()
        {
            Guid id = await Outbox.EnqueueAsync("a", "1", correlationId: "c");
            Guid second = await Outbox.EnqueueAsync("a", "2");
            Assert.Equal(OutboxMessageStatus.Ready, await Bed.StatusAsync(id));
            var messages = await Bed.ClaimAsync();
            Assert.Equal([id, second], messages.Select(message => message.Id));
            OutboxMessage first = messages[0];
            Assert.Equal((0, 1L, Now, Now), (first.Attempt, first.ClaimNumber, first.CreatedAtUtc, first.DueTimeUtc));
            Assert.Equal("c", first.CorrelationId);
            Assert.Null(first.ExpiresAtUtc);
        }

        // scenario: OUT-016
        // proves: EXP-001
        [Fact]
        public async Task Expired_message_is_failed_and_never_given_out()
        {
            Guid id = await Enqueue(new("a", "1") { ExpiresAtUtc = Now + Second });
            Guid kept = await Enqueue(new("a", "2") { ExpiresAtUtc = Now + 60 * Second });
            Bed.Clock.Advance(Second);
            Assert.Equal(kept, Assert.Single(await Bed.ClaimAsync()).Id);
            await Outbox.ReapExpiredAsync();
            OutboxMessageInfo info = await Outbox.GetAsync(id);
            Assert.Equal((OutboxMessageStatus.Failed, "expired"), (info.Status, info.LastError));
        }

        // scenario: OUT-017
        // proves: ORD-001
        [Fact]
        public async Task One_ordering_key_runs_one_at_a_time_and_in_order()
        {
            Guid owner = WaypostStore.NewId();
            for (int n = 0; n < 3; n++)
                await Enqueue(new("a", $"{n}") { OrderingKey = "k" });
            for (int n = 0; n < 3; n++)
            {
                var claim = await Bed.ClaimAsync(owner: owner);
                Assert.Equal($"{n}", Assert.Single(claim).Payload);
                Assert.Empty(await Bed.ClaimAsync());
                await Outbox.AbandonAsync(owner, claim, delay: 5 * Second);
                Assert.Empty(await Bed.ClaimAsync()); // a later one must not overtake the retry
                Bed.Clock.Advance(5 * Second);
                var again = await Bed.ClaimAsync(owner: owner);
                Assert.Equal($"{n}", Assert.Single(again).Payload);
                Assert.Equal(1, await Outbox.AckAsync(owner, again));
            }
        }

        // scenario: OUT-018
        // proves: ORD-001
        [Fact]
        public async Task Busy_ordering_key_does_not_hold_up_others()
        {
            for (int n = 0; n < 50; n++)
                await Enqueue(new("a", $"k{n}") { OrderingKey = "k" });
            await Enqueue(new("a", "other") { OrderingKey = "other" });
            await Enqueue(new("a", "free"));
            Assert.Equal(["k0", "other", "free"], await Bed.ClaimPayloadsAsync(batch: 10));
            Assert.Equal(49, (await Outbox.GetStatsAsync()).Total.Blocked);
        }

        // scenario: OUT-019
        // proves: UNQ-001
        [Fact]
        public async Task Unique_key_in_use_is_a_duplicate_until_the_first_is_finished()
        {
            Guid owner = WaypostStore.NewId();
            EnqueueResult first = await Outbox.EnqueueAsync(new("a", "1") { UniqueKey = "k" });
            EnqueueResult again = await Outbox.EnqueueAsync(new("a", "2") { UniqueKey = "k" });
            Assert.Equal((false, true, first.Id), (first.IsDuplicate, again.IsDuplicate, again.Id));
            Assert.False((await Outbox.EnqueueAsync(new("a", "3") { UniqueKey = "K" })).IsDuplicate);
            await Outbox.AckAsync(owner, await Bed.ClaimAsync(owner: owner));
            EnqueueResult fresh = await Outbox.EnqueueAsync(new("a", "4") { UniqueKey = "k" });
            Assert.False(fresh.IsDuplicate);
            Assert.NotEqual(first.Id, fresh.Id);
        }

        // scenario: OUT-020
        // proves: UNQ-001
        [Fact]
        public async Task Unique_key_that_was_rolled_back_swallows_nothing()
        {
            DbConnection connection = Bed.Connect();
            var message = new NewOutboxMessage("a", "1") { UniqueKey = "k" };
            await using (DbTransaction lost = await connection.BeginTransactionAsync())
            {
                await Outbox.EnqueueAsync(message, lost);
                await lost.RollbackAsync();
            }
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            EnqueueResult second = await Outbox.EnqueueAsync(new("a", "2") { UniqueKey = "k" }, transaction);
            EnqueueResult third = await Outbox.EnqueueAsync(message, transaction);
            Assert.Equal((false, true, second.Id), (second.IsDuplicate, third.IsDuplicate, third.Id));
            await transaction.CommitAsync();
            Assert.Equal(["2"], await Bed.ClaimPayloadsAsync());
        }

        // scenario: OUT-021
        // proves: UNQ-001, OBX-111
        [Theory]
        [InlineData(false)]
        [InlineData(true)]
        public async Task Duplicates_within_one_batch_are_told_apart(bool onConnection)
        {
            var batch = new[] { "K", "K", "L" }.Select(k => new NewOutboxMessage("a", "1") { UniqueKey = k });
            IReadOnlyList<EnqueueResult> made;
            if (onConnection)
            {
                await using DbTransaction transaction = await Bed.Connect().BeginTransactionAsync();
                made = await Outbox.EnqueueManyAsync(batch, transaction);
                await transaction.CommitAsync();
            }
            else
            {
                made = await Outbox.EnqueueManyAsync(batch);
            }
            Assert.Equal([false, true, false], made.Select(one => one.IsDuplicate));
            Assert.Equal(made[0].Id, made[1].Id);
            Assert.NotEqual(made[0].Id, made[2].Id);
            Assert.Equal(2, await Bed.CountAsync());
        }

        // ---- claim --------------------------------------------------------------------------

        // scenario: OUT-022
        // proves: OBX-017, OBX-022, OBX-023, OBX-026
        [Fact]
        public async Task Claim_order_batch_and_emptiness()
        {
            for (int n = 0; n < 3; n++)
                await Outbox.EnqueueAsync("a", $"{n}");
            await Outbox.EnqueueAsync("a", "early", dueTimeUtc: Now - Second);
            Assert.Equal(["early", "0"], await Bed.ClaimPayloadsAsync(batch: 2));
            Assert.Equal(["1", "2"], await Bed.ClaimPayloadsAsync(batch: 2));
            Assert.Empty(await Bed.ClaimPayloadsAsync());
        }

        // scenario: OUT-022
        // proves: OBX-022
        [Fact]
        public async Task Claim_in_the_form_of_ids()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            Assert.Equal([id], await Outbox.ClaimAsync(owner, leaseSeconds: 30, batchSize: 50));
            Assert.Equal(Now + 30 * Second, (await Outbox.GetAsync(id)).LockedUntilUtc);
            Assert.Equal(1, await Outbox.AckAsync(owner, [id]));
        }

        // scenario: OUT-023
        // proves: OBX-019..021
        [Fact]
        public async Task Claimed_messages_are_not_given_out_again_while_the_lease_lasts()
        {
            Guid id = await Outbox.EnqueueAsync("a", "1");
            Assert.Single(await Bed.ClaimAsync(30 * Second));
            Assert.Equal(Now + 30 * Second, (await Outbox.GetAsync(id)).LockedUntilUtc);
            Bed.Clock.Advance(29 * Second);
            await Outbox.ReapExpiredAsync();
            Assert.Empty(await Bed.ClaimAsync());
        }

        // scenario: OUT-024
        // proves: OBX-110
        [Fact]
        public async Task Claim_of_some_topics_leaves_the_others_alone()
        {
            foreach (string topic in new[] { "a", "b", "c" })
                await Outbox.EnqueueAsync(topic, "1");
            var some = await Bed.ClaimAsync(topics: ["a", "c"]);
            Assert.Equal(["a", "c"], some.Select(message => message.Topic).Order());
            Assert.Equal(1, (await Outbox.GetStatsAsync()).Topics["b"].Ready);
            Assert.Equal("b", Assert.Single(await Bed.ClaimAsync()).Topic);
        }

        // scenario: OUT-025
        // proves: OBX-021, OBX-027, OBX-028, BND-004
        [Fact]
        public async Task Bad_arguments_of_a_claim()
        {
            Guid owner = WaypostStore.NewId();
            foreach (int batch in new[] { 0, -1, 10001, int.MaxValue })
                await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
                    () => Outbox.ClaimAsync(owner, Second, batch));
            foreach (TimeSpan lease in new[] { TimeSpan.Zero, -Second, TimeSpan.MaxValue, TimeSpan.MinValue,
                                               TimeSpan.FromDays(1) + TimeSpan.FromMilliseconds(1) })
                await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
                    () => Outbox.ClaimAsync(owner, lease, 1));
            var error = await Assert.ThrowsAsync<ArgumentException>(
                () => Outbox.ClaimAsync(Guid.Empty, Second, 1));
            Assert.Contains("owner", error.Message);
            await Assert.ThrowsAsync<ArgumentNullException>(
                () => Outbox.ClaimAsync(owner, Second, 1, [null!]));
        }

        // ---- finish -------------------------------------------------------------------------

        // scenario: OUT-026
        // proves: OBX-024, OBX-030..032, OBX-035
        [Fact]
        public async Task Ack_is_for_ever_with_time_and_name()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            var claim = await Bed.ClaimAsync(owner: owner);
            Bed.Clock.Advance(Second);
            Assert.Equal(1, await Outbox.AckAsync(owner, claim, workerName: "w1"));
            OutboxMessageInfo info = await Outbox.GetAsync(id);
            Assert.Equal((OutboxMessageStatus.Done, Now + Second, "w1"),
                         (info.Status, info.ProcessedAtUtc!.Value, info.ProcessedBy));
            Bed.Clock.Advance(TimeSpan.FromDays(1));
            await Outbox.ReapExpiredAsync();
            Assert.Empty(await Bed.ClaimAsync());
        }

        // scenario: OUT-027
        // proves: OBX-037..039, OBX-042, OBX-043, OBX-062
        [Fact]
        public async Task Abandon_backs_off_or_takes_a_delay_and_stores_the_reason()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            Assert.Equal(1, await Outbox.AbandonAsync(owner, await Bed.ClaimAsync(owner: owner), "why", 5 * Second));
            OutboxMessageInfo info = await Outbox.GetAsync(id);
            Assert.Equal(("why", 1, OutboxMessageStatus.Ready, Now + 5 * Second),
                         (info.LastError, info.Message.Attempt, info.Status, info.NextAttemptUtc!.Value));
            Assert.Empty(await Bed.ClaimAsync());
            Bed.Clock.Advance(5 * Second);
            var claim = await Bed.ClaimAsync(owner: owner);
            Assert.Equal((1, "why"), (claim[0].Attempt, claim[0].LastError));
            Assert.Equal(1, await Outbox.AbandonAsync(owner, claim));
            TimeSpan wait = (await Outbox.GetAsync(id)).NextAttemptUtc!.Value - Bed.Clock.UtcNow;
            Assert.InRange(wait, TimeSpan.FromMicroseconds(1), 2 * Second);
            foreach (TimeSpan delay in new[] { TimeSpan.Zero, -Second, TimeSpan.FromDays(366) })
                await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
                    () => Outbox.AbandonAsync(owner, claim, delay: delay));
        }

        // scenario: OUT-028
        // proves: OBX-025, OBX-044, OBX-045, OBX-048
        [Fact]
        public async Task Fail_is_terminal_and_stores_the_reason()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            Assert.Equal(1, await Outbox.FailAsync(owner, await Bed.ClaimAsync(owner: owner), "why"));
            OutboxMessageInfo info = await Outbox.GetAsync(id);
            Assert.Equal((OutboxMessageStatus.Failed, "why"), (info.Status, info.LastError));
            Bed.Clock.Advance(TimeSpan.FromDays(1));
            Assert.Empty(await Bed.ClaimAsync());
        }

        // scenario: OUT-029
        // proves: OBX-116
        [Fact]
        public async Task Release_gives_back_at_once_with_the_attempt_unchanged()
        {
            Guid owner = WaypostStore.NewId();
            await Outbox.EnqueueAsync("a", "1");
            Assert.Equal(1, await Outbox.ReleaseAsync(owner, await Bed.ClaimAsync(owner: owner)));
            Assert.Equal(0, Assert.Single(await Bed.ClaimAsync()).Attempt);
        }

        // scenario: OUT-030
        // proves: OBX-020
        [Fact]
        public async Task Renew_makes_the_lease_last_from_now()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            var claim = await Bed.ClaimAsync(10 * Second, owner: owner);
            Bed.Clock.Advance(6 * Second);
            Assert.Equal(1, await Outbox.RenewAsync(owner, claim, 10 * Second));
            Assert.Equal(Now + 16 * Second, (await Outbox.GetAsync(id)).LockedUntilUtc);
        }

        // scenario: OUT-031
        // proves: OBX-033, OBX-034, OBX-040, OBX-041, OBX-046, OBX-047
        [Theory]
        [InlineData("ack")]
        [InlineData("abandon")]
        [InlineData("fail")]
        [InlineData("release")]
        public async Task Only_rows_that_the_owner_holds_change(string name)
        {
            Guid owner = WaypostStore.NewId(), other = WaypostStore.NewId();
            await Outbox.EnqueueManyAsync([new("a", "1"), new("a", "2")]);
            Guid mine = Assert.Single(await Bed.ClaimAsync(batch: 1, owner: owner)).Id;
            Guid theirs = Assert.Single(await Bed.ClaimAsync(batch: 1, owner: other)).Id;
            Assert.Equal(0, await Finish(theirs, WaypostStore.NewId()));
            Assert.Equal(OutboxMessageStatus.InProgress, await Bed.StatusAsync(theirs));
            Assert.Equal(1, await Finish(mine, theirs, mine, WaypostStore.NewId()));
            Assert.Equal(0, await Finish(mine));

            Task<long> Finish(params Guid[] ids) => name switch
            {
                "ack" => Outbox.AckAsync(owner, ids),
                "abandon" => Outbox.AbandonAsync(owner, ids),
                "fail" => Outbox.FailAsync(owner, ids),
                _ => Outbox.ReleaseAsync(owner, ids),
            };
        }

        // scenario: OUT-032
        // proves: OBX-036
        [Fact]
        public async Task Empty_list_does_nothing_and_null_is_an_error()
        {
            Guid owner = WaypostStore.NewId();
            Guid[] none = [];
            OutboxMessage[] nothing = [];
            Assert.Equal(0, await Outbox.AckAsync(owner, none));
            Assert.Equal(0, await Outbox.AbandonAsync(owner, none));
            Assert.Equal(0, await Outbox.FailAsync(owner, none));
            Assert.Equal(0, await Outbox.ReleaseAsync(owner, none));
            Assert.Equal(0, await Outbox.RenewAsync(owner, nothing, Second));
            await using DbTransaction transaction = await Bed.Connect().BeginTransactionAsync();
            Assert.Equal(0, await Outbox.AckAsync(owner, nothing, transaction));
            await Assert.ThrowsAsync<ArgumentNullException>(() => Outbox.AckAsync(owner, (Guid[])null!));
            await Assert.ThrowsAsync<ArgumentNullException>(() => Outbox.AckAsync(owner, (OutboxMessage[])null!));
            await Assert.ThrowsAsync<ArgumentNullException>(() => Outbox.AbandonAsync(owner, (Guid[])null!));
            await Assert.ThrowsAsync<ArgumentNullException>(() => Outbox.FailAsync(owner, (Guid[])null!));
            await Assert.ThrowsAsync<ArgumentNullException>(() => Outbox.ReleaseAsync(owner, (Guid[])null!));
        }

        // scenario: OUT-033
        // proves: OBX-049..052
        [Fact]
        public async Task Reap_turns_expired_leases_into_retries_and_leaves_others()
        {
            Guid first = await Outbox.EnqueueAsync("a", "1");
            await Bed.ClaimAsync(10 * Second);
            Guid second = await Outbox.EnqueueAsync("a", "2");
            await Bed.ClaimAsync(60 * Second);
            Bed.Clock.Advance(10 * Second);
            Assert.Equal(1, await Outbox.ReapExpiredAsync());
            OutboxMessageInfo reaped = await Outbox.GetAsync(first);
            Assert.Equal((OutboxMessageStatus.Ready, 1), (reaped.Status, reaped.Message.Attempt));
            Assert.Equal(OutboxMessageStatus.InProgress, await Bed.StatusAsync(second));
            Assert.Equal(0, await Outbox.ReapExpiredAsync());
        }

        // scenario: OUT-034
        // proves: OBX-114
        [Fact]
        public async Task Late_ack_of_an_earlier_claim_does_not_finish_the_later_one()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            var early = await Bed.ClaimAsync(Second, owner: owner);
            Bed.Clock.Advance(Second);
            await Outbox.ReapExpiredAsync();
            Bed.Clock.Advance(60 * Second);
            var late = await Bed.ClaimAsync(owner: owner);
            Assert.True(late[0].ClaimNumber > early[0].ClaimNumber);
            Assert.Equal(0, await Outbox.AckAsync(owner, early));
            Assert.Equal(0, await Outbox.RenewAsync(owner, early, 60 * Second));
            Assert.Equal(OutboxMessageStatus.InProgress, await Bed.StatusAsync(id));
            Assert.Equal(1, await Outbox.AckAsync(owner, late));
        }

        // scenario: OUT-035
        // proves: OBX-113, BND-002
        [Fact]
        public async Task Ack_in_the_apps_transaction()
        {
            Guid owner = WaypostStore.NewId();
            Guid id = await Outbox.EnqueueAsync("a", "1");
            var claim = await Bed.ClaimAsync(owner: owner);
            DbConnection connection = Bed.Connect();
            foreach (bool commit in new[] { false, true })
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                Bed.InsertOrder(connection, transaction);
                Assert.Equal(1, await Outbox.AckAsync(owner, claim, transaction, "w"));
                Assert.Equal(OutboxMessageStatus.InProgress, await Bed.StatusAsync(id));
                if (commit)
                    await transaction.CommitAsync();
                else
                    await transaction.RollbackAsync();
                Assert.Equal(commit ? 1 : 0, await Bed.OrdersAsync());
            }
            Assert.Equal("w", (await Outbox.GetAsync(id)).ProcessedBy);
        }

        // ---- looking ------------------------------------------------------------------------

        // scenario: OUT-036
        // proves: OBX-110
        [Fact]
        public async Task Statistics_by_topic()
        {
            Guid owner = WaypostStore.NewId();
            for (int n = 0; n < 3; n++)
                await Outbox.EnqueueAsync("a", "1");
            var claim = await Bed.ClaimAsync(owner: owner);
            await Outbox.AckAsync(owner, claim.Take(1));
            await Outbox.FailAsync(owner, claim.Skip(1).Take(1));
            await Enqueue(new("a", "1") { Delay = 60 * Second });
            await Enqueue(new("b", "1") { OrderingKey = "k" });
            await Enqueue(new("b", "1") { OrderingKey = "k" });
            Bed.Clock.Advance(3 * Second);
            OutboxStats stats = await Outbox.GetStatsAsync();
            Assert.Equal(["a", "b"], stats.Topics.Keys);
            Assert.Equal(new TopicStats(0, 1, 1, 0, 1, 1, TimeSpan.Zero), stats.Topics["a"]);
            Assert.Equal(new TopicStats(1, 0, 0, 1, 0, 0, 3 * Second), stats.Topics["b"]);
            Assert.Equal((3 * Second, 1), (stats.Total.OldestReadyAge, stats.Total.Done));
            Assert.Equal(0, (await Outbox.GetStatsAsync(finished: false)).Total.Done);
        }

        // scenario: OUT-037
        // proves: BND-004
        [Fact]
        public async Task Look_a_message_up_in_each_state()
        {
            Guid owner = WaypostStore.NewId();
            Guid one = await Enqueue(new("a", "0") { OrderingKey = "k" });
            Guid two = await Enqueue(new("a", "1") { OrderingKey = "k" });
            Assert.Equal(OutboxMessageStatus.Ready, await Bed.StatusAsync(one));
            Assert.Equal(OutboxMessageStatus.Blocked, await Bed.StatusAsync(two));
            await Bed.ClaimAsync(owner: owner);
            Assert.Equal(OutboxMessageStatus.InProgress, await Bed.StatusAsync(one));
            await Outbox.AckAsync(owner, [one]);
            Assert.Equal(OutboxMessageStatus.Done, await Bed.StatusAsync(one));
            await Outbox.FailAsync(owner, await Bed.ClaimAsync(owner: owner));
            OutboxMessageInfo info = await Outbox.GetAsync(two);
            Assert.Equal((OutboxMessageStatus.Failed, null, Now),
                         (info.Status, info.NextAttemptUtc, info.ProcessedAtUtc!.Value));
            Assert.Equal(("1", "k"), (info.Message.Payload, info.Message.OrderingKey));
            Assert.Null(await Outbox.FindAsync(WaypostStore.NewId()));
            await Assert.ThrowsAsync<NotFoundException>(() => Outbox.GetAsync(WaypostStore.NewId()));
        }

        // scenario: OUT-038
        // proves: SDP-001, SDP-002
        [Fact]
        public async Task Store_without_its_schema_is_an_error_and_deploying_twice_is_harmless()
        {
            var options = new WaypostOptions { Url = Bed.Url, Schema = "fresh" };
            for (int n = 0; n < 2; n++)
                Assert.Throws<SchemaException>(() => WaypostStore.Open(options, Quiet.Instance));
            for (int n = 0; n < 2; n++)
                WaypostStore.Deploy(options);
            using WaypostStore store = WaypostStore.Open(options, Quiet.Instance);
            Assert.Empty((await store.Outbox.GetStatsAsync()).Topics);
        }
    }

    public sealed class OutboxOnSqlite() : OutboxTests(Engine.Sqlite)
    {
        // scenario: OUT-038
        // proves: SDP-001
        [Fact]
        public void Opening_a_missing_or_empty_file_creates_nothing()
        {
            string missing = Path.Combine(Bed.Folder, "missing.db"), empty = Path.Combine(Bed.Folder, "empty.db");
            File.WriteAllBytes(empty, []);
            Assert.Throws<UnavailableException>(() => WaypostStore.Open($"sqlite:{missing}", logger: Quiet.Instance));
            Assert.False(File.Exists(missing));
            Assert.Throws<SchemaException>(() => WaypostStore.Open($"sqlite:{empty}", logger: Quiet.Instance));
            Assert.Empty(File.ReadAllBytes(empty));
        }
    }

    [Trait("Engine", "postgresql")]
    public sealed class OutboxOnPostgreSql() : OutboxTests(Engine.PostgreSql);

    [Trait("Engine", "mariadb")]
    public sealed class OutboxOnMariaDb() : OutboxTests(Engine.MariaDb);

    [Trait("Engine", "sqlserver")]
    public sealed class OutboxOnSqlServer() : OutboxTests(Engine.SqlServer);
}
