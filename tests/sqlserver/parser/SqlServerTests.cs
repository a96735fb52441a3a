// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Waypost.SqlServer.Parser;

public class SqlServerTests
{
    private const string Binary = "Latin1_General_BIN2";

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
        var hostile = Sent.All.Where(s => s.Names == "hostile" && s.Style != "qmark").ToDictionary(s => (s.Kind, s.Name));
        foreach (var p in plain)
            Assert.Equal(Shape(p.Text), Shape(hostile[(p.Kind, p.Name)].Text));

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
    /* proves: SQS-001 */
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

    /* proves: SQS-001 */
    [Theory]
    [InlineData("Outbox_Claim", "@OwnerToken UNIQUEIDENTIFIER, @LeaseSeconds INT, @BatchSize BIGINT")]
    [InlineData("Outbox_Ack", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("Outbox_Abandon", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("Outbox_Fail", "@OwnerToken UNIQUEIDENTIFIER, @Ids GuidIdList")]
    [InlineData("Outbox_ReapExpired", "")]
    public void Procedures_OfTheSeeds_CanBeCalledAsThere(string name, string parameters)
    {
        var procedure = Model.Plain.Procedures[name];
        var wanted = parameters.Split(", ", StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(wanted, procedure.Parameters.Take(wanted.Length).Select(p => $"{p.Name} {p.Type.Name}"));
        Assert.All(procedure.Parameters.Skip(wanted.Length), p => Assert.True(p.HasDefault, p.Name));
    }

    /* proves: SQS-001 */
    [Theory]
    [InlineData("Id", "UNIQUEIDENTIFIER", null)]
    [InlineData("Payload", "NVARCHAR", int.MaxValue)]
    [InlineData("Topic", "NVARCHAR", 255)]
    [InlineData("Status", "TINYINT", null)]
    [InlineData("LockedUntil", "DATETIME2", 3)]
    [InlineData("OwnerToken", "UNIQUEIDENTIFIER", null)]
    [InlineData("ProcessedBy", "NVARCHAR", int.MaxValue)]
    [InlineData("RetryCount", "INT", null)]
    [InlineData("LastError", "NVARCHAR", int.MaxValue)]
    [InlineData("CorrelationId", "NVARCHAR", 255)]
    public void Columns_OfTheSeeds_AreThere(string name, string type, int? length)
    {
        var column = Model.Plain.Tables["Outbox"].Columns[name];
        Assert.Equal((type, length), (column.Type.Name, column.Type.Length));
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
        var clustered = Assert.Single(Model.Plain.Tables["Outbox"].Indexes, i => i.Clustered);
        Assert.Equal(["Seq"], clustered.Keys);
        Assert.Contains("Outbox_Sequence", Model.Plain.Sequences);
    }

    /// <summary>SQL Server pads with blanks what it compares: unique keys end in something else.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Keys_ThatAreUnique_TellTrailingBlanksApart()
    {
        var texts = Model.Plain.Tables["Outbox"].Indexes.Where(i => i.Unique).SelectMany(i => i.Keys)
            .Where(k => Model.Plain.Tables["Outbox"].Columns[k].Type.Class == "text").ToHashSet();
        Assert.Equal(["ActiveKey", "RunningKey"], texts.Order());
        var set = Model.Plain.Procedures.Values.SelectMany(p => Procedure.Find<AssignmentSetClause>(p.Body)).ToList();
        foreach (var name in texts.Append("OrderedKey"))
            foreach (var value in set.Where(s => s.Column?.MultiPartIdentifier.Identifiers[^1].Value == name).Select(s => s.NewValue))
                Assert.True(value is NullLiteral
                    or BinaryExpression { BinaryExpressionType: BinaryExpressionType.Add, SecondExpression: StringLiteral { Value: "." } }
                    or ColumnReferenceExpression, $"{name} is set to something else");
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
    public void Claims_PassLockedRows_AndLockTheirs()
    {
        string[] claiming = ["Outbox_Claim", "Outbox_Expire", "Outbox_FindDead", "Outbox_FindExpired", "Outbox_ReapExpired", "Outbox_RenewFree"];
        TableHintKind[] claim = [TableHintKind.ReadPast, TableHintKind.UpdLock, TableHintKind.Rowlock, TableHintKind.ReadCommittedLock];
        var found = Places().Where(p => Hints(p.Table).IsSupersetOf(claim)).Select(p => p.Procedure.Name).Distinct();
        Assert.Equal(claiming, found.Order());
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
        Assert.Equal(["Outbox_Claim", "Outbox_NextDue", "Outbox_RenewFree"], found.Order());
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

        static IEnumerable<TableReference> Direct(FromClause? from) => (from?.TableReferences ?? []).SelectMany(Parts);
        static IEnumerable<TableReference> Parts(TableReference t) =>
            t is JoinTableReference j ? Parts(j.FirstTableReference).Concat(Parts(j.SecondTableReference)) : [t];
        static IEnumerable<BooleanExpression> Conjuncts(BooleanExpression? e) => e switch
        {
            null => [],
            BooleanBinaryExpression { BinaryExpressionType: BooleanBinaryExpressionType.And } b => Conjuncts(b.FirstExpression).Concat(Conjuncts(b.SecondExpression)),
            _ => [e],
        };
        static string Text(BooleanExpression e, string? alias)
        {
            var words = e.ScriptTokenStream.Skip(e.FirstTokenIndex).Take(e.LastTokenIndex - e.FirstTokenIndex + 1)
                .Where(t => t.TokenType != TSqlTokenType.WhiteSpace).Select(t => t.Text).ToList();
            if (alias != null && words is [var first, ".", ..] && first == alias)
                words.RemoveRange(0, 2);
            return string.Join(' ', words);
        }
    }

    /// <summary>OUTPUT straight to the client fails on a table that has triggers.</summary>
    [Fact]
    public void Changes_TellWhatTheyDid_ByWayOfTables() =>
        Assert.All(Model.Plain.Procedures.Values, p => Assert.Empty(Procedure.Find<OutputClause>(p.Body)));

    /* proves: SQS-001 */
    [Fact]
    public void Procedures_SetWhatTheyNeed_First()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var statements = procedure.Body.StatementList.Statements.OfType<BeginEndBlockStatement>().Single().StatementList.Statements;
            var on = statements.TakeWhile(s => s is PredicateSetStatement).Cast<PredicateSetStatement>()
                .ToDictionary(s => s.Options, s => s.IsOn);
            foreach (var option in new[] { SetOptions.NoCount, SetOptions.AnsiPadding, SetOptions.AnsiWarnings, SetOptions.ArithAbort, SetOptions.ConcatNullYieldsNull })
                Assert.True(on[option], $"{procedure.Name}: {option}");
            Assert.False(on[SetOptions.NumericRoundAbort]);
            Assert.False(on[SetOptions.XactAbort]);
        }
    }

    /// <summary>More than one change is a transaction of its own, or goes back to a savepoint.</summary>
    /* proves: SQS-001 */
    [Fact]
    public void Procedures_WithSeveralChanges_AreAllOrNothing()
    {
        foreach (var procedure in Model.Plain.Procedures.Values)
        {
            var changes = Procedure.Find<DataModificationSpecification>(procedure.Body).Count(d => d.Target is NamedTableReference);
            var begins = Procedure.Find<BeginTransactionStatement>(procedure.Body).Count;
            var saves = Procedure.Find<SaveTransactionStatement>(procedure.Body).Count;
            var commits = Procedure.Find<CommitTransactionStatement>(procedure.Body).Count;
            var expected = changes > 1 ? 1 : 0;
            Assert.Equal((procedure.Name, expected, expected, expected), (procedure.Name, begins, saves, commits));
            Assert.Empty(Procedure.Find<MergeStatement>(procedure.Body));
        }
    }

}
