// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Waypost.SqlServer.Parser;

/// <summary>What a type is for comparisons, and how many bytes it takes at most.</summary>
internal sealed record SqlType(string Name, int? Length, string Class, int Bytes)
{
    public static SqlType Of(DataTypeReference? type)
    {
        if (type is UserDataTypeReference user)
            return new SqlType(user.Name.BaseIdentifier.Value, null, "table", 0);
        var sql = Assert.IsType<SqlDataTypeReference>(type);
        var name = sql.SqlDataTypeOption.ToString().ToUpperInvariant();
        int? length = sql.Parameters.Count == 0 ? null
            : sql.Parameters[0] is MaxLiteral ? int.MaxValue : int.Parse(sql.Parameters[0].Value);
        return name switch
        {
            "NVARCHAR" => new SqlType(name, length ?? 1, "text", length is int.MaxValue ? int.MaxValue : 2 * (length ?? 1)),
            "CHAR" => new SqlType(name, length ?? 1, "text", length ?? 1),
            "VARBINARY" => new SqlType(name, length ?? 1, "bytes", length ?? 1),
            "BIGINT" => new SqlType(name, null, "number", 8),
            "INT" => new SqlType(name, null, "number", 4),
            "TINYINT" or "BIT" => new SqlType(name, null, "number", 1),
            "UNIQUEIDENTIFIER" => new SqlType(name, null, "guid", 16),
            "DATETIME2" => new SqlType(name, length ?? 7, "time", 8),
            _ => throw new InvalidOperationException($"a type that is not ours: {name}"),
        };
    }
}

internal sealed record Column(string Name, SqlType Type, bool Nullable, string? Collation);

internal sealed record Index(string Name, string[] Keys, string[] Included, bool Unique, bool Clustered, BooleanExpression? Filter);

internal sealed class Table(string name)
{
    public string Name { get; } = name;
    public Dictionary<string, Column> Columns { get; } = new(StringComparer.OrdinalIgnoreCase);
    public List<Index> Indexes { get; } = [];

    public static Table Of(string name, TableDefinition definition)
    {
        var table = new Table(name);
        table.Add(definition);
        return table;
    }

    public void Add(TableDefinition definition)
    {
        foreach (var c in definition.ColumnDefinitions)
        {
            var nullable = !c.Constraints.OfType<NullableConstraintDefinition>().Any(n => !n.Nullable);
            Columns.Add(c.ColumnIdentifier.Value,
                new Column(c.ColumnIdentifier.Value, SqlType.Of(c.DataType), nullable, c.Collation?.Value));
        }
        foreach (var u in definition.TableConstraints.OfType<UniqueConstraintDefinition>())
            Indexes.Add(new Index(u.ConstraintIdentifier?.Value ?? "", Names(u.Columns), [], true, u.Clustered ?? u.IsPrimaryKey, null));
    }

    public static string[] Names(IEnumerable<ColumnWithSortOrder> columns) =>
        [.. columns.Select(c => c.Column.MultiPartIdentifier.Identifiers[^1].Value)];
}

internal sealed record Parameter(string Name, SqlType Type, bool HasDefault);

internal sealed record Procedure(string Name, IReadOnlyList<Parameter> Parameters, ProcedureStatementBody Body)
{
    /// <summary>Each place where it names a table, with the hints.</summary>
    public IReadOnlyList<NamedTableReference> Tables { get; } = Find<NamedTableReference>(Body.StatementList);

    public static List<T> Find<T>(TSqlFragment? root) where T : TSqlFragment
    {
        var visitor = new Finder<T>();
        root?.Accept(visitor);
        return visitor.Found;
    }

    private sealed class Finder<T> : TSqlFragmentVisitor where T : TSqlFragment
    {
        public List<T> Found { get; } = [];

        public override void Visit(TSqlFragment node)
        {
            if (node is T found)
                Found.Add(found);
        }
    }
}

/// <summary>What the scripts make.</summary>
internal sealed class Model
{
    public Dictionary<string, Table> Tables { get; } = new(StringComparer.OrdinalIgnoreCase);
    public Dictionary<string, Table> Types { get; } = new(StringComparer.OrdinalIgnoreCase);
    public Dictionary<string, Procedure> Procedures { get; } = new(StringComparer.OrdinalIgnoreCase);
    public HashSet<string> Functions { get; } = new(StringComparer.OrdinalIgnoreCase);
    public HashSet<string> Sequences { get; } = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>With plain names.</summary>
    public static Model Plain { get; } = new();

    private Model()
    {
        foreach (var sent in Sent.Plain("migration").Concat(Sent.Plain("routine")).Concat(Sent.Plain("statement").Where(s => s.Style == "at")))
            foreach (var batch in Parsers.Read(sent.Text).Batches)
                foreach (var statement in batch.Statements)
                    Take(statement);
    }

    private static string Name(SchemaObjectName name)
    {
        Assert.Equal("infra", name.SchemaIdentifier?.Value);
        return name.BaseIdentifier.Value;
    }

    private void Take(TSqlStatement statement)
    {
        switch (statement)
        {
            case CreateTableStatement t:
                Tables.Add(Name(t.SchemaObjectName), Table.Of(Name(t.SchemaObjectName), t.Definition));
                break;
            case IfStatement { ThenStatement: CreateTableStatement t }:
                Tables.TryAdd(Name(t.SchemaObjectName), Table.Of(Name(t.SchemaObjectName), t.Definition));
                break;
            case AlterTableAddTableElementStatement a:
                Tables[Name(a.SchemaObjectName)].Add(a.Definition);
                break;
            case AlterTableDropTableElementStatement d:
                foreach (var element in d.AlterTableDropTableElements)
                    Assert.Equal(1, Tables[Name(d.SchemaObjectName)].Indexes.RemoveAll(i => i.Name == element.Name.Value));
                break;
            case CreateTypeTableStatement t:
                Types.Add(Name(t.Name), Table.Of(Name(t.Name), t.Definition));
                break;
            case CreateIndexStatement i:
                Tables[Name(i.OnName)].Indexes.Add(new Index(i.Name.Value, Table.Names(i.Columns),
                    [.. i.IncludeColumns.Select(c => c.MultiPartIdentifier.Identifiers[^1].Value)],
                    i.Unique, i.Clustered ?? false, i.FilterPredicate));
                break;
            case CreateFunctionStatement f:
                Functions.Add(Name(f.Name));
                break;
            case CreateSequenceStatement s:
                Sequences.Add(Name(s.Name));
                break;
            case IfStatement { ThenStatement: ExecuteStatement } i:
                foreach (var text in Procedure.Find<ExecutableStringList>(i).SelectMany(l => l.Strings.OfType<StringLiteral>())) // what is made if it is not there
                    foreach (var made in Parsers.Read(text.Value).Batches.SelectMany(b => b.Statements))
                        Take(made);
                break;
            case ProcedureStatementBody p:
                var name = Name(p.ProcedureReference.Name);
                Procedures[name] = new Procedure(name,
                    [.. p.Parameters.Select(v => new Parameter(v.VariableName.Value, SqlType.Of(v.DataType),
                        v.Value != null))], p);
                break;
        }
    }
}
