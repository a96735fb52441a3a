// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Waypost.SqlServer.Parser;

public class SqlServerTests
{
    private const string Binary = "Latin1_General_BIN2";

    /// <summary>What the tables of the queues are called.</summary>
    private static readonly string[] Queues = ["Inbox", "JobRuns", "Outbox", "Timers"];

    private static void None(IEnumerable<string> faults) => Assert.Equal([], faults);

    private static HashSet<TableHintKind> Hints(NamedTableReference table) => [.. table.TableHints.Select(h => h.HintKind)];

    private static IEnumerable<(Procedure Procedure, NamedTableReference Table)> Places() =>
        Model.Plain.Procedures.Values.SelectMany(p => p.Tables.Select(t => (p, t)));

    /* proves: SQS-001 */
    [Fact]
    public void EveryText_IsTaken_ByTheGrammarsOf2016And2022()
    {
        var faults = new List<string>();
        foreach (var sent in Sent.All.Where(s => s is not { Names: "hostile", Style: "qmark" })) // names with question marks
            foreach (var (name, parser) in Parsers.All)
            {
                parser.Parse(new StringReader(sent.Parsable()), out var errors);
                faults.AddRange(errors.Select(e => $"{sent}, {name}: {e.Line}:{e.Column} {e.Message}"));
            }
        None(faults);
        Assert.Contains(Sent.All, s => s.Kind == "migration");
        Assert.Contains(Sent.All, s => s.Kind == "routine");
        Assert.Contains(Sent.All, s => s.Kind == "statement" && s.Style == "qmark");
    }

    [Fact]
    public void BothParsers_RefuseWhatIsWrong()
    {
        foreach (var (_, parser) in Parsers.All)
        {
            parser.Parse(new StringReader("UPDATE w SET a = 1 FROM t AS w WITH (READPAST"), out var errors);
            Assert.NotEmpty(errors);
        }
    }

    /* proves: SDP-003 */
    [Fact]
    public void HostileNames_ChangeNothingButNames()
    {
        var plain = Sent.All.Where(s => s.Names == "plain" && s.Style != "qmark");
        var hostile = Sent.All.Where(s => s.Names == "hostile" && s.Style != "qmark").ToDictionary(s => (s.Kind, s.Name, s.Style));
        foreach (var p in plain)
            Assert.Equal(Shape(p.Text), Shape(hostile[(p.Kind, p.Name, p.Style)].Text));

        static List<string> Shape(string text) =>
            [.. Parsers.Read(text).ScriptTokenStream
                .Where(t => t.TokenType is not TSqlTokenType.WhiteSpace)
                .Select(t => t.TokenType is TSqlTokenType.QuotedIdentifier or TSqlTokenType.Identifier ? "name"
                    : t.TokenType is TSqlTokenType.UnicodeStringLiteral ? "text" : t.TokenType.ToString())];
    }

    /* proves: SQS-001 */
    [Fact]
    public void EveryName_OfProceduresAndStatements_IsThereWithItsType()
    {
        var model = Model.Plain;
        None(model.Procedures.Values.SelectMany(p => new Scopes(model, p).Faults)
            .Concat(Sent.Plain("statement").Where(s => s.Style == "at").SelectMany(s => new Scopes(model, s).Faults)));
        Assert.True(model.Procedures.Count > 30);
    }

    [Theory]
    [InlineData("SELECT w.Nothing FROM [infra].[Outbox] AS w")]
    [InlineData("SELECT 1 FROM [infra].[Nothing] AS w")]
    [InlineData("SELECT 1 FROM [infra].[Outbox] AS w WITH (INDEX (IX_Nothing))")]
    [InlineData("SELECT 1 FROM [infra].[Outbox] AS w WHERE w.Id = @number")]
    [InlineData("SELECT @nothing")]
    [InlineData("INSERT INTO [infra].[Outbox] (Id, Topic) SELECT 1")]
    [InlineData("UPDATE w SET Status = @name FROM [infra].[Outbox] AS w WHERE w.Seq = 1")]
    [InlineData("EXEC [infra].[Outbox_Nothing]")]
    [InlineData("EXEC [infra].[Outbox_Get] @Nothing = @name")]
    [InlineData("EXEC [infra].[Outbox_Get]")]
    [InlineData("EXEC [infra].[Outbox_Get] @Id = @number")]
    public void Names_ThatAreWrong_AreFound(string text)
    {
        var sent = new Sent("statement", "wrong", "plain", "at", text, [new Value("number", true), new Value("name", false)]);
        Assert.NotEmpty(new Scopes(Model.Plain, sent).Faults);
    }

    /// <summary>An app with EXECUTE alone can run whatever is sent to a schema that is there.</summary>
    /* proves: SQS-001, OBX-105 */
    [Fact]
    public void Statements_OfTheLibrary_AreCallsOfProcedures()
    {
        var others = Sent.Plain("statement").Where(s => s.Style == "at")
            .Where(s => Parsers.Read(s.Text).Batches.SelectMany(b => b.Statements).Any(t => t is not ExecuteStatement))
            .Select(s => s.Name);
        Assert.Equal(
            ["connection_encoding", "migration_create", "migration_exists", "migration_list", "migration_lock", "migration_record",
             "migration_schema_create", "migration_schema_exists"], others.Order());
    }

    /* proves: SQS-001, OBX-095 */
    [Theory]
    [InlineData("Claim", "@OwnerToken UNIQUEIDENTIFIER, @LeaseSeconds INT, @BatchSize BIGINT")]
    [InlineData("Ack", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("Abandon", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("Fail", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("ReapExpired", "")]
    public void Procedures_OfTheSeeds_CanBeCalledAsThere(string name, string parameters)
    {
        var wanted = parameters.Split(", ", StringSplitOptions.RemoveEmptyEntries);
        foreach (var procedure in Queues.Select(q => Model.Plain.Procedures[$"{q}_{name}"]))
        {
            Assert.Equal(wanted, procedure.Parameters.Take(wanted.Length).Select(p => $"{p.Name} {p.Type.Name}"));
            Assert.All(procedure.Parameters.Skip(wanted.Length), p => Assert.True(p.HasDefault, $"{procedure.Name} {p.Name}"));
        }
    }

    /* proves: SQS-001 */
    [Theory]
    [InlineData("Outbox", "Id UNIQUEIDENTIFIER, Payload NVARCHAR(MAX), Topic NVARCHAR(255), Status TINYINT, LockedUntil DATETIME2(3), OwnerToken UNIQUEIDENTIFIER, "
        + "ProcessedBy NVARCHAR(MAX), RetryCount INT, LastError NVARCHAR(MAX), CorrelationId NVARCHAR(255), CreatedAt DATETIME2(6), ProcessedAt DATETIME2(6)")]
    [InlineData("Inbox", "Source NVARCHAR(255), MessageId NVARCHAR(255), Topic NVARCHAR(255), Payload NVARCHAR(MAX), Hash VARBINARY(MAX), FirstSeenUtc DATETIME2(6), "
        + "LastSeenUtc DATETIME2(6), ProcessedUtc DATETIME2(6), Status TINYINT, LockedUntil DATETIME2(3), OwnerToken UNIQUEIDENTIFIER, Attempt INT, LastError NVARCHAR(MAX), "
        + "NextAttemptAt DATETIME2(6), DueTimeUtc DATETIME2(6)")]
    [InlineData("Timers", "Id UNIQUEIDENTIFIER, DueTime DATETIME2(6), Payload NVARCHAR(MAX), Topic NVARCHAR(255), CorrelationId NVARCHAR(255), StatusCode TINYINT, "
        + "LockedUntil DATETIME2(3), OwnerToken UNIQUEIDENTIFIER, RetryCount INT, CreatedAt DATETIME2(6), ProcessedAt DATETIME2(6), LastError NVARCHAR(MAX)")]
    [InlineData("Jobs", "Id UNIQUEIDENTIFIER, JobName NVARCHAR(255), CronSchedule NVARCHAR(MAX), Topic NVARCHAR(255), Payload NVARCHAR(MAX), IsEnabled BIT, NextDueTime DATETIME2(6)")]
    [InlineData("JobRuns", "Id UNIQUEIDENTIFIER, JobId UNIQUEIDENTIFIER, ScheduledTime DATETIME2(6), StatusCode TINYINT, LockedUntil DATETIME2(3), "
        + "OwnerToken UNIQUEIDENTIFIER, RetryCount INT, StartTime DATETIME2(6), EndTime DATETIME2(6), Output NVARCHAR(MAX), LastError NVARCHAR(MAX)")]
    public void Columns_OfTheSeeds_AreThere(string table, string columns)
    {
        foreach (var wanted in columns.Split(", "))
        {
            var type = Model.Plain.Tables[table].Columns[wanted.Split(' ')[0]].Type;
            var length = type.Length is int.MaxValue ? "(MAX)" : type.Length is { } n ? $"({n})" : "";
            Assert.Equal(wanted.Split(' ')[1], type.Name + length);
        }
    }

    /* proves: SQS-001 */
    [Fact]
    public void Keys_OfIndexes_FitAndAreBinary()
    {
        var faults = new List<string>();
        foreach (var table in Model.Plain.Tables.Values)
            foreach (var index in table.Indexes)
            {
                var keys = index.Keys.Select(k => table.Columns[k]).ToList();
                long bytes = keys.Sum(k => (long)k.Type.Bytes) + (index.Clustered ? 0 : 8);
                if (bytes > (index.Clustered ? 900 : 1700))
                    faults.Add($"{index.Name}: {bytes} bytes");
                faults.AddRange(keys.Where(k => k.Type.Class == "text" && k.Collation != Binary).Select(k => $"{index.Name}: {k.Name} is not binary"));
            }
        None(faults);
        foreach (var queue in Queues)
        {
            var clustered = Assert.Single(Model.Plain.Tables[queue].Indexes, i => i.Clustered);
            Assert.Equal(["Seq"], clustered.Keys);
            Assert.Contains($"{queue}_Sequence", Model.Plain.Sequences);
        }
    }

    /// <summary>SQL Server pads with blanks what it compares: unique keys end in something else, or have their length beside them.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Keys_ThatAreUnique_TellTrailingBlanksApart()
    {
        string[] keys = ["ActiveKey", "RunningKey", "LeaseKey", "OwnerKey", "SemaphoreKey", "TopicKey"];
        string[] widths = ["Widths", "NameWidth"];
        string[] words = ["Queue"]; // our own, without blanks
        foreach (var table in Model.Plain.Tables.Values)
            foreach (var index in table.Indexes.Where(i => i.Unique && i.Keys.Any(k => table.Columns[k].Type.Class == "text")))
                Assert.True(index.Keys.Where(k => table.Columns[k].Type.Class == "text").All(k => keys.Contains(k) || words.Contains(k)) || widths.Contains(index.Keys[^1]), $"{table.Name}, {index.Name}");
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var pointed = Procedure.Find<DeclareVariableElement>(procedure.Body).Where(d => IsPointed(d.Value)).Select(d => d.VariableName.Value).ToHashSet();
            foreach (var name in keys.Append("OrderedKey"))
                foreach (var value in Set(procedure, name))
                    Assert.True(Values(value).All(o => o is NullLiteral or ColumnReferenceExpression || IsPointed(o) || (o is VariableReference v && pointed.Contains(v.Name))) ||
                        (name, value) is ("ActiveKey", VariableReference { Name: "@key" }) && procedure.Name.EndsWith("_EnqueueMany", StringComparison.Ordinal), // of a table of pointed ones
                        $"{procedure.Name}: {name} is set to something else");
        }
        foreach (var procedure in Model.Plain.Procedures.Values) // who looks for a key looks at its length
        {
            var compared = Procedure.Find<BooleanComparisonExpression>(procedure.Body).Select(c => (c.FirstExpression as ColumnReferenceExpression)?.MultiPartIdentifier?.Identifiers[^1].Value).ToList();
            Assert.Equal((procedure.Name, compared.Count(c => c == "MessageId")), (procedure.Name, compared.Count(c => c == "Widths")));
        }

        static IEnumerable<ScalarExpression> Values(ScalarExpression value) =>
            value is SearchedCaseExpression c ? c.WhenClauses.Select(w => w.ThenExpression).Concat(c.ElseExpression is { } e ? [e] : []) : [value];
        static bool IsPointed(ScalarExpression? value) =>
            value is BinaryExpression { BinaryExpressionType: BinaryExpressionType.Add, SecondExpression: StringLiteral { Value: "." } };
        static IEnumerable<ScalarExpression> Set(Procedure procedure, string name)
        {
            foreach (var set in Procedure.Find<AssignmentSetClause>(procedure.Body).Where(c => c.Column?.MultiPartIdentifier.Identifiers[^1].Value == name))
                yield return set.NewValue;
            foreach (var insert in Procedure.Find<InsertSpecification>(procedure.Body).Where(i => i.Target is NamedTableReference))
            {
                var place = insert.Columns.ToList().FindIndex(c => c.MultiPartIdentifier.Identifiers[^1].Value == name);
                if (place < 0)
                    continue;
                if (insert.InsertSource is ValuesInsertSource values)
                    yield return values.RowValues[0].ColumnValues[place];
                else if (insert.InsertSource is SelectInsertSource { Select: QuerySpecification q })
                    yield return ((SelectScalarExpression)q.SelectElements[place]).Expression;
            }
        }
    }

    /// <summary>An owner is compared with its length, too.</summary>
    [Fact]
    public void Owners_AreCompared_WithTheirLengths()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var calls = Procedure.Find<FunctionCall>(procedure.Body).Count(f => f.FunctionName.Value == "DATALENGTH");
            var compared = Procedure.Find<BooleanComparisonExpression>(procedure.Body).Count(c =>
                c.FirstExpression is ColumnReferenceExpression { MultiPartIdentifier: { } id } && id.Identifiers[^1].Value == "Owner" ||
                c.FirstExpression is VariableReference { Name: "@holder" });
            Assert.True(calls >= 2 * compared, procedure.Name);
        }
    }

    /// <summary>Variables have the database's collation, which may take A for a.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Variables_OfText_AreComparedByteForByte()
    {
        int compared = 0;
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var texts = Procedure.Find<DeclareVariableElement>(procedure.Body)
                .Where(d => d.DataType is SqlDataTypeReference { SqlDataTypeOption: SqlDataTypeOption.NVarChar or SqlDataTypeOption.VarChar })
                .Select(d => d.VariableName.Value).ToHashSet();
            foreach (var c in Procedure.Find<BooleanComparisonExpression>(procedure.Body))
                if (c.FirstExpression is VariableReference a && c.SecondExpression is VariableReference b && texts.Contains(a.Name))
                {
                    compared++;
                    Assert.True((a.Collation ?? b.Collation)?.Value == Binary, $"{procedure.Name}: {a.Name} = {b.Name}");
                }
        }
        Assert.NotEqual(0, compared);
    }

    /// <summary>Who cleans up or expires passes what a transaction of the app's holds, also where it writes.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Maintenance_WaitsForNobody()
    {
        var tables = Queues.SelectMany(q => new[] { "Expire", "FindOld", "ReapExpired", "RemoveFinished" }.Select(p => ($"{q}_{p}", q)))
            .Concat([("Join_Expire", "Join"), ("JobRuns_Purge", "JobRuns"), ("Jobs_Due", "Jobs"), ("PausedTopic_Clean", "PausedTopic")])
            .Where(t => Model.Plain.Procedures.Values.Any(p => p.Name == t.Item1)).ToArray();
        Assert.True(tables.Length > 14);
        foreach (var (procedure, table) in Places())
            if (tables.Contains((procedure.Name, table.SchemaObject.BaseIdentifier.Value))
                && table.Alias?.Value != "o") // outbox_joined reads again what was just written
                Assert.True(Hints(table).Contains(TableHintKind.ReadPast), procedure.Name);
    }

    /// <summary>Where Topic is compared with Topic, its length is, too.</summary>
    [Fact]
    public void Topics_AreCompared_WithTheirLengths()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var calls = Procedure.Find<FunctionCall>(procedure.Body).Count(f => f.FunctionName.Value == "DATALENGTH");
            var compared = Procedure.Find<BooleanComparisonExpression>(procedure.Body).Count(IsTopic);
            var grouped = Procedure.Find<ExpressionGroupingSpecification>(procedure.Body).Count(g => IsTopicColumn(g.Expression));
            Assert.True(calls >= 2 * compared + grouped, procedure.Name);
        }

        static bool IsTopicColumn(ScalarExpression e) =>
            e is ColumnReferenceExpression c && c.MultiPartIdentifier?.Identifiers[^1].Value == "Topic";
        static bool IsTopic(BooleanComparisonExpression c) => IsTopicColumn(c.FirstExpression);
    }

    /* proves: SQS-001 */
    [Fact]
    public void Claims_PassLockedRows()
    {
        var claiming = Queues.SelectMany(q => new[] { "Claim", "CopyTake", "Expire", "ReapExpired", "RemoveFinished", "RenewFree" }.Select(p => $"{q}_{p}"))
            .Concat(["JobRuns_Purge", "Join_End", "Join_Expire", "Join_WaitHold", "Lease_Clean", "Lease_Keep", "PausedTopic_Clean", "Semaphore_Acquire", "Semaphore_Clean", "Semaphore_Keep"]);
        foreach (var name in claiming)
            Assert.True(Targets(Model.Plain.Procedures[name]).Any(t => Hints(t).Contains(TableHintKind.ReadPast)), name);
        string[] holding = [.. Queues.SelectMany(q => new[] { $"{q}_FindDead", $"{q}_FindExpired" }), "Join_Remove"]; // to be changed in the same transaction
        foreach (var name in holding)
            Assert.True(Model.Plain.Procedures[name].Tables.Any(t => Hints(t).IsSupersetOf([TableHintKind.ReadPast, TableHintKind.UpdLock])), name);
    }

    private static bool IsOfMoves(string procedure) => procedure.Contains("Copy", StringComparison.Ordinal);

    /// <summary>The tables that are changed, as the statement's FROM has them.</summary>
    private static IEnumerable<NamedTableReference> Targets(Procedure procedure)
    {
        foreach (var change in Procedure.Find<UpdateDeleteSpecificationBase>(procedure.Body))
            if (change.Target is NamedTableReference { SchemaObject: { SchemaIdentifier: null } name } && !OfVariable(change.FromClause, name.BaseIdentifier.Value))
                yield return Assert.Single(Procedure.Find<NamedTableReference>(change.FromClause), t => t.Alias?.Value == name.BaseIdentifier.Value);

        static bool OfVariable(FromClause from, string alias) => Procedure.Find<VariableTableReference>(from).Any(v => v.Alias?.Value == alias);
    }

    /// <summary>UPDLOCK makes the server ignore READCOMMITTEDLOCK: what an app's transaction runs would do so at its level of isolation, where
    /// READPAST fails (SERIALIZABLE, SNAPSHOT), ranges are locked, or what others have committed is not seen. A change locks what it changes anyway.
    /// Only what runs on our own connections, at READ COMMITTED, may look at rows with it: workers, changes of dead letters, and moves between stores.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Locks_AreRight_InTransactionsOfAnyIsolation()
    {
        var own = Queues.SelectMany(q => new[] { "Claim", "FindDead", "FindExpired", "Replay", "RenewFree" }.Select(p => $"{q}_{p}"))
            .Concat(["Join_Remove", "Lease_Keep", "Semaphore_Clean", "Semaphore_Keep"]).ToHashSet();
        var changed = 0;
        foreach (var procedure in Model.Plain.Procedures.Values.Where(p => !IsOfMoves(p.Name)))
        {
            var targets = Targets(procedure).ToList();
            foreach (var table in targets)
                Assert.True(Hints(table).IsSupersetOf([TableHintKind.Rowlock, TableHintKind.ReadCommittedLock]) && !Hints(table).Contains(TableHintKind.UpdLock), $"{procedure.Name}:{table.StartLine}");
            Assert.True(own.Contains(procedure.Name) || !procedure.Tables.Any(t => Hints(t).Overlaps([TableHintKind.UpdLock, TableHintKind.XLock, TableHintKind.HoldLock, TableHintKind.Serializable])), procedure.Name);
            changed += targets.Count;
        }
        Assert.True(changed > 80);
    }

    /// <summary>With row versions READPAST is only taken together with READCOMMITTEDLOCK; it is never taken at other levels.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void PassingLockedRows_IsRightUnderRowVersions()
    {
        foreach (var (procedure, table) in Places().Where(p => Hints(p.Table).Contains(TableHintKind.ReadPast)))
        {
            Assert.Contains(TableHintKind.ReadCommittedLock, Hints(table));
            Assert.DoesNotContain(TableHintKind.ReadCommitted, Hints(table));
            Assert.DoesNotContain(TableHintKind.HoldLock, Hints(table));
        }
    }

    /// <summary>Uncommitted rows are looked at only where what is found is tried under locks, or is a hint.</summary>
    [Fact]
    public void UncommittedRows_AreReadInFewPlaces()
    {
        var found = Places().Where(p => Hints(p.Table).Overlaps([TableHintKind.ReadUncommitted, TableHintKind.NoLock]))
            .Select(p => p.Procedure.Name).Distinct();
        Assert.Equal(Queues.SelectMany(q => new[] { $"{q}_Claim", $"{q}_NextDue", $"{q}_RenewFree" }).Concat(["Lease_Keep", "Semaphore_Keep"]).Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
    }

    /// <summary>A change that is not committed is a row that is passed, and all before it still stand: a topic that is paused and
    /// goes on any number of times in one transaction is, for who looks meanwhile, what it was before.</summary>
    /* proves: WRK-008 */
    [Fact]
    public void Pauses_AreAddedToAndReadOnce_SoThatWhatIsNotCommittedSaysNothing()
    {
        var places = Places().Where(p => p.Table.SchemaObject.BaseIdentifier.Value == "PausedTopic").ToList();
        Assert.Equal(["PausedTopic_Add", "PausedTopic_Clean", "PausedTopic_List", "PausedTopic_Remove"], places.Select(p => p.Procedure.Name).Distinct().Order(StringComparer.Ordinal));
        var read = Assert.Single(places, p => p.Procedure.Name == "PausedTopic_List").Table;
        Assert.Contains(TableHintKind.ReadPast, Hints(read));
        var cleaned = places.Where(p => p.Procedure.Name == "PausedTopic_Clean").ToList();
        Assert.Equal(3, cleaned.Count); // what goes, by what is behind it; and it is gone
        Assert.All(cleaned, p => Assert.Contains(TableHintKind.ReadPast, Hints(p.Table)));
        foreach (var procedure in places.Select(p => p.Procedure).Distinct().Where(p => p.Name is "PausedTopic_Add" or "PausedTopic_Remove"))
        {
            Assert.Empty(Procedure.Find<UpdateSpecification>(procedure.Body));
            Assert.Empty(Procedure.Find<DeleteSpecification>(procedure.Body)); // in the app's transaction the last row may be its own
        }
    }

    /// <summary>An index with a filter that is forced must have its filter among the conditions, or the statement fails.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void IndexesWithFilters_AreForced_WhereTheirFilterStands()
    {
        var forced = 0;
        foreach (var procedure in Model.Plain.Procedures.Values)
            foreach (var query in Procedure.Find<QuerySpecification>(procedure.Body))
                foreach (var table in Direct(query.FromClause).OfType<NamedTableReference>())
                    foreach (var hint in table.TableHints.OfType<IndexTableHint>())
                    {
                        var index = Model.Plain.Tables[table.SchemaObject.BaseIdentifier.Value].Indexes
                            .Single(i => i.Name == hint.IndexValues[0].Identifier.Value);
                        var conditions = Conjuncts(query.WhereClause?.SearchCondition).Select(c => Text(c, table.Alias.Value)).ToList();
                        foreach (var wanted in Conjuncts(index.Filter))
                            Assert.Contains(Text(wanted, null), conditions);
                        forced++;
                    }
        Assert.True(forced > 8);
    }

    private static IEnumerable<TableReference> Direct(FromClause? from) => (from?.TableReferences ?? []).SelectMany(Parts);

    private static IEnumerable<TableReference> Parts(TableReference t) =>
        t is JoinTableReference j ? Parts(j.FirstTableReference).Concat(Parts(j.SecondTableReference)) : [t];

    private static IEnumerable<BooleanExpression> Conjuncts(BooleanExpression? e) => e switch
    {
        null => [],
        BooleanBinaryExpression { BinaryExpressionType: BooleanBinaryExpressionType.And } b => Conjuncts(b.FirstExpression).Concat(Conjuncts(b.SecondExpression)),
        _ => [e],
    };

    private static IEnumerable<BooleanExpression> On(TableReference t) => t is not JoinTableReference j ? []
        : On(j.FirstTableReference).Concat(On(j.SecondTableReference)).Concat(Conjuncts((j as QualifiedJoin)?.SearchCondition));

    private static string Text(BooleanExpression e, string? alias)
    {
        var words = Words(e);
        return alias != null && words.StartsWith(alias + " . ", StringComparison.Ordinal) ? words[(alias.Length + 3)..] : words;
    }

    /// <summary>A place where a table is looked into: under which conditions, by which of its columns, and which of those are compared with a column of another.</summary>
    private sealed record Look(string Where, Table Table, HashSet<TableHintKind> Hints, string? Index, HashSet<string> Equal, HashSet<string> Joined, List<string> Conditions);

    private static IEnumerable<Look> Looks()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var queries = Procedure.Find<QuerySpecification>(procedure.Body).Select(q => (q.FromClause, q.WhereClause))
                .Concat(Procedure.Find<UpdateDeleteSpecificationBase>(procedure.Body).Select(c => (c.FromClause, c.WhereClause)));
            foreach (var (from, where) in queries)
            {
                var conjuncts = Conjuncts(where?.SearchCondition).Concat((from?.TableReferences ?? []).SelectMany(On)).ToList();
                foreach (var table in Direct(from).OfType<NamedTableReference>().Where(t => t.SchemaObject.SchemaIdentifier != null))
                {
                    var alias = table.Alias?.Value ?? table.SchemaObject.BaseIdentifier.Value;
                    HashSet<string> equal = [], joined = [];
                    foreach (var c in conjuncts.OfType<BooleanComparisonExpression>().Where(c => c.ComparisonType == BooleanComparisonType.Equals))
                        foreach (var (one, other) in new[] { (c.FirstExpression, c.SecondExpression), (c.SecondExpression, c.FirstExpression) })
                            if (one is ColumnReferenceExpression { MultiPartIdentifier.Identifiers: [var t, var column] } && t.Value == alias
                                && Procedure.Find<ColumnReferenceExpression>(other).All(o => o.MultiPartIdentifier?.Identifiers[0].Value != alias))
                            {
                                equal.Add(column.Value);
                                if (other is ColumnReferenceExpression)
                                    joined.Add(column.Value);
                            }
                    yield return new Look($"{procedure.Name}:{table.StartLine} {alias}", Model.Plain.Tables[table.SchemaObject.BaseIdentifier.Value], Hints(table),
                        table.TableHints.OfType<IndexTableHint>().FirstOrDefault()?.IndexValues[0].Identifier.Value, equal, joined, [.. conjuncts.Select(c => Text(c, alias))]);
                }
            }
        }
    }

    /// <summary>Not an index whose filter is about a column that is compared with a row's of another table: what a comparison says of NULL is not sure to meet it.</summary>
    private static bool IsSure(Index index, Look look) => !Conjuncts(index.Filter).Any(f => Text(f, null).Split(' ').Any(look.Joined.Contains));

    /// <summary>A seek that is forced must be possible, or the statement fails (8622).</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Seeks_ThatAreForced_ArePossible()
    {
        var forced = Looks().Where(l => l.Hints.Contains(TableHintKind.ForceSeek)).ToList();
        Assert.All(forced, l => Assert.True(l.Table.Indexes.Any(i => (l.Index == null || l.Index == i.Name) && l.Equal.Contains(i.Keys[0])
            && IsSure(i, l) && Conjuncts(i.Filter).All(f => l.Conditions.Contains(Text(f, null)))), l.Where));
        Assert.True(forced.Count > 100);
    }

    /// <summary>The server scans a small table rather than look a row up, and so waits for rows of strangers. So whoever looks for one row by an index beside the
    /// clustered one, or locks or changes the rows of a list, seeks.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Rows_ThatAreLookedFor_AreSought()
    {
        var sought = 0;
        var scanned = new List<string>();
        foreach (var look in Looks().Where(l => !IsOfMoves(l.Where) && !l.Hints.Overlaps([TableHintKind.ReadUncommitted, TableHintKind.NoLock])))
        {
            var clustered = look.Table.Indexes.SingleOrDefault(i => i.Clustered);
            if (clustered == null) // the journal
                continue;
            var known = !clustered.Keys.All(look.Equal.Contains) && look.Table.Indexes.Any(i => i.Unique && !i.Clustered && i.Keys.All(look.Equal.Contains) && IsSure(i, look));
            var listed = look.Joined.Contains(clustered.Keys[0]) && look.Hints.Overlaps([TableHintKind.ReadCommittedLock, TableHintKind.UpdLock]);
            if (!known && !listed)
                continue;
            sought++;
            if (!look.Hints.Contains(TableHintKind.ForceSeek))
                scanned.Add(look.Where);
        }
        Assert.Empty(scanned);
        Assert.True(sought > 80, $"{sought}");
        var claims = Looks().Where(l => Queues.Any(q => l.Where.StartsWith($"{q}_Claim:", StringComparison.Ordinal)) && l.Table.Name is var n && Queues.Contains(n)
            && !l.Hints.Contains(TableHintKind.ReadUncommitted) && l.Equal.Count > 1).ToList();
        Assert.Equal(5 * Queues.Length, claims.Count);
        Assert.All(claims, l => Assert.True(l.Hints.Contains(TableHintKind.ForceSeek) || l.Equal.Contains("Seq"), l.Where)); // or by a variable
    }

    /// <summary>READPAST passes no lock of a whole table, which the server takes from 5,000 locks of one statement on.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Tables_WithManyLocks_KeepThemOnRows()
    {
        var kept = Sent.Plain("migration").SelectMany(s => Parsers.Read(s.Text).Batches).SelectMany(b => b.Statements).OfType<AlterTableSetStatement>()
            .Where(a => a.Options.OfType<LockEscalationTableOption>().Any(o => o.Value == LockEscalationMethod.Disable)).Select(a => a.SchemaObjectName.BaseIdentifier.Value);
        Assert.Equal([.. Queues, "CopyItem", "JoinMember"], kept.Order(StringComparer.Ordinal).OrderBy(n => !Queues.Contains(n)));
    }

    /// <summary>Where a cleaner and an app's transaction wait for each other, the app's goes on.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Maintenance_GivesWay_InDeadlocks()
    {
        var found = Model.Plain.Procedures.Values.Where(p => Procedure.Find<SetCommandStatement>(p.Body).SelectMany(s => s.Commands).OfType<GeneralSetCommand>()
            .Any(c => c.CommandType == GeneralSetCommandType.DeadlockPriority && c.Parameter is IdentifierLiteral { Value: "LOW" })).Select(p => p.Name);
        Assert.Equal(Queues.SelectMany(q => new[] { $"{q}_Expire", $"{q}_RemoveFinished", $"{q}_RemoveReplayed", $"{q}_CopyTake", $"{q}_CopyHeld", $"{q}_CopySplit" })
            .Concat(["CopyJob_Dead", "CopyJob_Held", "CopyJob_Lock", "CopyJob_Others", "CopyJob_Runs", "JobRuns_Purge", "Join_Expire", "Join_Remove", "Lease_Clean", "PausedTopic_Clean", "Semaphore_Clean"]).Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
    }

    /// <summary>OUTPUT straight to the client fails on a table that has triggers.</summary>
    [Fact]
    public void Changes_TellWhatTheyDid_ByWayOfTables() =>
        Assert.All(Model.Plain.Procedures.Values, p => Assert.Empty(Procedure.Find<OutputClause>(p.Body)));

    /* proves: SQS-001 */
    [Fact]
    public void Procedures_SetWhatTheyNeed_First()
    {
        foreach (var procedure in Model.Plain.Procedures.Values.Where(p => !Inner.Contains(p.Name)))
        {
            var statements = procedure.Body.StatementList.Statements.OfType<BeginEndBlockStatement>().Single().StatementList.Statements;
            var on = statements.TakeWhile(s => s is PredicateSetStatement).Cast<PredicateSetStatement>()
                .ToDictionary(s => s.Options, s => s.IsOn);
            foreach (var option in new[] { SetOptions.NoCount, SetOptions.AnsiPadding, SetOptions.AnsiWarnings, SetOptions.ArithAbort, SetOptions.ConcatNullYieldsNull })
                Assert.True(on[option], $"{procedure.Name}: {option}");
            Assert.False(on[SetOptions.NumericRoundAbort]);
            Assert.False(on[SetOptions.XactAbort]);
            // Neither cut what is read, as drivers' settings and apps' sessions may
            Assert.Equal("2147483647", (Assert.Single(Procedure.Find<SetTextSizeStatement>(procedure.Body)).TextSize as Literal)?.Value);
            Assert.Equal("0", (Assert.Single(Procedure.Find<SetRowCountStatement>(procedure.Body)).NumberRows as Literal)?.Value);
        }
    }

    /// <summary>Where a call has a transaction of its own and does without XACT_ABORT, as an expected error would doom it, a client that
    /// gives up leaves it open. So nothing but one change is made meanwhile, and it waits for nobody or has waited before.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Transactions_OfOurOwn_DoWithoutXactAbortForOneChange()
    {
        var found = new SortedSet<string>(StringComparer.Ordinal);
        foreach (var procedure in Model.Plain.Procedures.Values.Where(p => Procedure.Find<BeginTransactionStatement>(p.Body).Count > 0))
        {
            var begins = Procedure.Find<BeginTransactionStatement>(procedure.Body)[0].StartOffset;
            var sets = Procedure.Find<PredicateSetStatement>(procedure.Body).Where(s => s.Options == SetOptions.XactAbort && s.StartOffset > begins).ToList();
            var off = 0;
            foreach (var set in sets)
            {
                if (set.IsOn && off > 0)
                {
                    Assert.Single(Procedure.Find<DataModificationSpecification>(procedure.Body), d => d.StartOffset > off && d.StartOffset < set.StartOffset);
                    found.Add(procedure.Name);
                }
                off = set.IsOn ? 0 : set.StartOffset;
            }
            Assert.Equal((procedure.Name, 0), (procedure.Name, off));
        }
        Assert.Equal(Queues.SelectMany(q => q == "Inbox" ? new[] { $"{q}_Claim" } : [$"{q}_Claim", $"{q}_EnqueueMany"]).Append("Lease_Acquire").Order(StringComparer.Ordinal), found);
    }

    /// <summary>Procedures that others call within their transaction: they have that one's settings.</summary>
    private static readonly string[] Inner = ["Join_Count", "Join_End"];

    /// <summary>Procedures that try one change and then another, of which one does something: no transaction of ours is open while they wait.</summary>
    private static readonly string[] Either = ["Inbox_Check", "Inbox_Enqueue", "Inbox_Once", "Semaphore_Set"];

    /// <summary>More than one change is a transaction of its own, or goes back to a savepoint.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Procedures_WithSeveralChanges_AreAllOrNothing()
    {
        var inner = 0;
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var changes = Procedure.Find<DataModificationSpecification>(procedure.Body).Count(d => d.Target is NamedTableReference);
            var calls = Procedure.Find<ExecutableProcedureReference>(procedure.Body)
                .Count(c => Inner.Contains(c.ProcedureReference.ProcedureReference.Name.BaseIdentifier.Value));
            var begins = Procedure.Find<BeginTransactionStatement>(procedure.Body).Count;
            var saves = Procedure.Find<SaveTransactionStatement>(procedure.Body).Count;
            var commits = Procedure.Find<CommitTransactionStatement>(procedure.Body).Count;
            var expected = Inner.Contains(procedure.Name) || Either.Contains(procedure.Name) ? 0 : changes + 2 * calls > 1 ? 1 : Math.Min(begins, 1); // of a queue without joins
            Assert.Equal((procedure.Name, expected, expected, expected), (procedure.Name, begins, saves, commits));
            Assert.Empty(Procedure.Find<MergeStatement>(procedure.Body));
            inner += calls;
        }
        Assert.True(inner >= 5);
        Assert.DoesNotContain(Sent.Plain("statement"), s => Inner.Any(i => s.Text.Contains($"[{i}]")));
    }

    /// <summary>What is moved between stores is changed only while the other store holds it; and what is looked for passes what
    /// others have locked, but is looked at again under locks.</summary>
    /* proves: CLI-001 */
    [Fact]
    public void Moves_ChangeOnlyWhatIsHeld()
    {
        foreach (var queue in Queues)
        {
            foreach (var name in new[] { "CopyFree", "CopyHeld", "CopyRemove", "CopySettle" })
            {
                var changes = Procedure.Find<UpdateDeleteSpecificationBase>(Named($"{queue}_{name}").Body)
                    .Where(d => d.Target is NamedTableReference { SchemaObject.BaseIdentifier.Value: "m" }).ToList();
                var where = Words(Assert.Single(changes).WhereClause);
                Assert.Contains("i . Peer = @OwnerToken", where);
                Assert.Contains("m . OwnerToken = i . Peer", where);
                Assert.Matches(@"m \. Status(Code)? = 1", where);
            }
            foreach (var name in new[] { "CopyTake", "CopyHoldDead" })
                Assert.Matches(name == "CopyTake" ? @"m \. Status(Code)? = 0$" : @"m \. Status(Code)? = 3$",
                    Words(Procedure.Find<UpdateSpecification>(Named($"{queue}_{name}").Body)[0].WhereClause));
            Assert.All(Named($"{queue}_CopyFind").Tables.Where(t => t.SchemaObject.BaseIdentifier.Value == queue), t => Assert.Contains(TableHintKind.ReadPast, Hints(t)));
            Assert.All(Named($"{queue}_CopySplit").Tables.Where(t => t.SchemaObject.BaseIdentifier.Value == queue), t =>
            {
                Assert.Contains(TableHintKind.ReadCommittedLock, Hints(t));
                Assert.Equal(t.Alias.Value == "h", Hints(t).Contains(TableHintKind.ReadPast)); // what is behind them may be an app's that adds it
            });
            Assert.Contains("o . Seq < m . Seq", Words(Named($"{queue}_CopySplit").Body));
        }
    }

    /// <summary>Who gives a job a run keeps it from being deleted until he commits, by its place in the index of ids: a lock of the row
    /// alone is passed by who reads at READ COMMITTED.</summary>
    /* proves: CLI-001 */
    [Fact]
    public void Jobs_ThatAreGivenRuns_AreNotDeletedMeanwhile()
    {
        foreach (var (name, kind) in new[] { ("JobRuns_Add", TableHintKind.RepeatableRead), ("CopyJob_Held", TableHintKind.XLock) })
        {
            var place = Assert.Single(Named(name).Tables, t => t.SchemaObject.BaseIdentifier.Value == "Jobs" && Hints(t).Contains(kind));
            Assert.Equal("Jobs_Known", Assert.Single(place.TableHints.OfType<IndexTableHint>()).IndexValues[0].Identifier.Value);
        }
        var held = Named("CopyJob_Held");
        var first = held.Tables.First(t => t.SchemaObject.BaseIdentifier.Value == "Jobs");
        Assert.Contains(TableHintKind.XLock, Hints(first));
    }

    private static Procedure Named(string name) => Model.Plain.Procedures.Values.Single(p => p.Name == name);

    private static string Words(TSqlFragment part) =>
        string.Join(' ', part.ScriptTokenStream.Skip(part.FirstTokenIndex).Take(part.LastTokenIndex - part.FirstTokenIndex + 1)
            .Where(t => t.TokenType != TSqlTokenType.WhiteSpace).Select(t => t.Text));

    /// <summary>The script gives the right to call procedures, and no other.</summary>
    /* proves: SDP-004, OBX-105 */
    [Fact]
    public void Rights_AreToExecute_Alone()
    {
        var text = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "rights.sql"));
        foreach (var (_, parser) in Parsers.All)
        {
            parser.Parse(new StringReader(text), out var errors);
            Assert.Empty(errors);
        }
        var grant = Assert.IsType<GrantStatement>(Assert.Single(Parsers.Read(text).Batches.SelectMany(b => b.Statements)));
        var permission = Assert.Single(grant.Permissions);
        Assert.Equal("EXECUTE", Assert.Single(permission.Identifiers).Value, ignoreCase: true);
        Assert.Empty(permission.Columns);
        Assert.False(grant.WithGrantOption);
        Assert.Equal(SecurityObjectKind.Schema, grant.SecurityTargetObject.ObjectKind);
        Assert.Equal("$(schema)", Assert.Single(grant.SecurityTargetObject.ObjectName.MultiPartIdentifier.Identifiers).Value);
        Assert.Equal("$(role)", Assert.Single(grant.Principals).Identifier.Value);
    }

    /// <summary>What a procedure reaches by ownership needs no right: its own schema's objects, and no text that is run.</summary>
    /* proves: SDP-004, OBX-105 */
    [Fact]
    public void Procedures_NeedNoRights_OfTheirCaller()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            Assert.Empty(Procedure.Find<ExecutableStringList>(procedure.Body));
            Assert.All(Procedure.Find<SchemaObjectName>(procedure.Body).Where(n => n.Identifiers.Count > 1), n =>
            {
                Assert.Equal("infra", n.SchemaIdentifier?.Value);
                Assert.Null(n.DatabaseIdentifier);
            });
            Assert.DoesNotContain(Procedure.Find<ExecutableProcedureReference>(procedure.Body),
                c => c.ProcedureReference.ProcedureReference.Name.SchemaIdentifier?.Value != "infra");
            Assert.Empty(Procedure.Find<TruncateTableStatement>(procedure.Body)); // and SET IDENTITY_INSERT, ALTER: rights on the table
            Assert.Empty(Procedure.Find<SetIdentityInsertStatement>(procedure.Body));
            Assert.DoesNotContain(procedure.Body.StatementList.Statements, s => s is ExecuteAsStatement);
        }
    }

}
