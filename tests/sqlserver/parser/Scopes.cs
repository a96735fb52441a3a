// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Waypost.SqlServer.Parser;

/// <summary>Walks a body and looks up every name in it: tables, columns, variables, indexes of hints; and compares types.</summary>
internal sealed class Scopes : TSqlFragmentVisitor
{
    private sealed class Scope : Dictionary<string, Dictionary<string, SqlType?>?>
    {
        public Scope() : base(StringComparer.OrdinalIgnoreCase) { }

        public Dictionary<string, SqlType?>? Target { get; set; }
    }

    private readonly Model _model;
    private readonly string _where;
    private readonly Stack<Scope> _scopes = new();
    private readonly Dictionary<string, SqlType> _variables = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, Table> _tables = new(StringComparer.OrdinalIgnoreCase);
    private readonly HashSet<TSqlFragment> _words = [];

    public List<string> Faults { get; } = [];

    public Scopes(Model model, Procedure procedure)
    {
        (_model, _where) = (model, procedure.Name);
        foreach (var p in procedure.Parameters)
            if (p.Type.Class == "table")
                Declare(_tables, p.Name, model.Types[p.Type.Name]);
            else
                Declare(_variables, p.Name, p.Type);
        procedure.Body.StatementList.Accept(this);
    }

    public Scopes(Model model, Sent statement)
    {
        (_model, _where) = (model, statement.Name);
        foreach (var v in statement.Params.DistinctBy(v => v.Name))
            Declare(_variables, "@" + v.Name, v.Number ? new SqlType("BIGINT", null, "number", 8) : new SqlType("NVARCHAR", int.MaxValue, "any", int.MaxValue));
        Parsers.Read(statement.Text).Accept(this);
    }

    private void Fault(TSqlFragment at, string what) => Faults.Add($"{_where}:{at.StartLine}: {what}");

    private void Declare<T>(Dictionary<string, T> where, string name, T what)
    {
        if (_variables.ContainsKey(name) || _tables.ContainsKey(name))
            Faults.Add($"{_where}: {name} is declared twice");
        where[name] = what;
    }

    private static Dictionary<string, SqlType?> Columns(Table table) =>
        table.Columns.Values.ToDictionary(c => c.Name, c => (SqlType?)c.Type, StringComparer.OrdinalIgnoreCase);

    public override void ExplicitVisit(DeclareVariableElement node)
    {
        Declare(_variables, node.VariableName.Value, SqlType.Of(node.DataType));
        base.ExplicitVisit(node);
    }

    public override void ExplicitVisit(DeclareTableVariableBody node) =>
        Declare(_tables, node.VariableName.Value, Table.Of(node.VariableName.Value, node.Definition));

    // ---- tables

    private void Collect(Scope scope, TableReference reference)
    {
        switch (reference)
        {
            case JoinTableReference j:
                Collect(scope, j.FirstTableReference);
                Collect(scope, j.SecondTableReference);
                break;
            case NamedTableReference n:
                Add(scope, n.Alias?.Value ?? n.SchemaObject.BaseIdentifier.Value, ColumnsOf(n));
                break;
            case VariableTableReference v:
                if (!_tables.TryGetValue(v.Variable.Name, out var table))
                    Fault(v, $"no table {v.Variable.Name}");
                Add(scope, v.Alias?.Value ?? v.Variable.Name, table == null ? null : Columns(table));
                break;
            case QueryDerivedTable d:
                Add(scope, d.Alias.Value, Selected(d.QueryExpression));
                break;
            case OpenJsonTableReference o:
                var items = new Dictionary<string, SqlType?>(StringComparer.OrdinalIgnoreCase);
                foreach (var item in o.SchemaDeclarationItems)
                    items[item.ColumnDefinition.ColumnIdentifier.Value] = SqlType.Of(item.ColumnDefinition.DataType);
                if (items.Count == 0)
                    (items["key"], items["value"], items["type"]) = (null, null, null);
                Add(scope, o.Alias.Value, items);
                break;
            default:
                Fault(reference, $"a source of rows that this test does not know: {reference.GetType().Name}");
                break;
        }
    }

    private void Add(Scope scope, string alias, Dictionary<string, SqlType?>? columns)
    {
        if (!scope.TryAdd(alias, columns))
            Faults.Add($"{_where}: two tables are called {alias}");
    }

    private Dictionary<string, SqlType?>? ColumnsOf(NamedTableReference n)
    {
        var schema = n.SchemaObject.SchemaIdentifier?.Value;
        if (schema == "sys")
            return null;
        if (schema != "infra" || !_model.Tables.TryGetValue(n.SchemaObject.BaseIdentifier.Value, out var table))
        {
            Fault(n, $"no table {schema}.{n.SchemaObject.BaseIdentifier.Value}");
            return null;
        }
        foreach (var hint in n.TableHints.OfType<IndexTableHint>())
            foreach (var index in hint.IndexValues)
                if (!table.Indexes.Any(i => i.Name == index.Identifier.Value))
                    Fault(n, $"no index {index.Identifier.Value}");
        return Columns(table);
    }

    private static Dictionary<string, SqlType?> Selected(QueryExpression query)
    {
        var columns = new Dictionary<string, SqlType?>(StringComparer.OrdinalIgnoreCase);
        while (query is BinaryQueryExpression both)
            query = both.FirstQueryExpression;
        foreach (var element in ((QuerySpecification)query).SelectElements.OfType<SelectScalarExpression>())
        {
            var name = element.ColumnName?.Value ??
                (element.Expression as ColumnReferenceExpression)?.MultiPartIdentifier.Identifiers[^1].Value;
            if (name != null)
                columns[name] = null;
        }
        return columns;
    }

    private void Within(FromClause? from, NamedTableReference? target, Action visit)
    {
        var scope = new Scope();
        foreach (var reference in from?.TableReferences ?? [])
            Collect(scope, reference);
        if (target != null)
        {
            var name = target.SchemaObject;
            if (name.SchemaIdentifier == null && scope.TryGetValue(name.BaseIdentifier.Value, out var columns))
                scope.Target = columns;
            else
                scope.Target = ColumnsOf(target);
        }
        _scopes.Push(scope);
        visit();
        _scopes.Pop();
    }

    public override void ExplicitVisit(QuerySpecification node) =>
        Within(node.FromClause, null, () => base.ExplicitVisit(node));

    public override void ExplicitVisit(UpdateSpecification node)
    {
        var table = (node.Target as VariableTableReference)?.Variable.Name;
        Within(node.FromClause, node.Target as NamedTableReference, () =>
        {
            if (table != null)
                _scopes.Peek().Target = Columns(_tables[table]);
            base.ExplicitVisit(node);
        });
    }

    public override void ExplicitVisit(DeleteSpecification node) =>
        Within(node.FromClause, node.Target as NamedTableReference, () => base.ExplicitVisit(node));

    public override void ExplicitVisit(InsertSpecification node)
    {
        var columns = node.Target is VariableTableReference v ? Columns(_tables[v.Variable.Name]) : ColumnsOf((NamedTableReference)node.Target);
        Within(null, null, () =>
        {
            _scopes.Peek().Target = columns;
            if (node.InsertSource is ValuesInsertSource values)
                foreach (var row in values.RowValues)
                    Match(node, columns, [.. row.ColumnValues]);
            else if (node.InsertSource is SelectInsertSource { Select: QuerySpecification q })
                Match(node, columns, [.. q.SelectElements.OfType<SelectScalarExpression>().Select(e => e.Expression)]);
            base.ExplicitVisit(node);
        });
    }

    private void Match(InsertSpecification node, Dictionary<string, SqlType?>? columns, ScalarExpression[] values)
    {
        if (node.Columns.Count != values.Length)
            Fault(node, $"{node.Columns.Count} columns, {values.Length} values");
        else if (columns != null)
            for (var i = 0; i < values.Length; i++)
                if (columns.TryGetValue(node.Columns[i].MultiPartIdentifier.Identifiers[0].Value, out var type))
                    Fits(node, type, values[i]);
    }

    // ---- columns, variables, functions

    public override void ExplicitVisit(FunctionCall node)
    {
        if (node.FunctionName.Value.StartsWith("DATE", StringComparison.OrdinalIgnoreCase) && node.Parameters.Count == 3)
            _words.Add(node.Parameters[0]); // what is counted
        if (node.CallTarget is MultiPartIdentifierCallTarget target &&
            !(target.MultiPartIdentifier.Identifiers[0].Value == "infra" && _model.Functions.Contains(node.FunctionName.Value)))
            Fault(node, $"no function {node.FunctionName.Value}");
        base.ExplicitVisit(node);
    }

    public override void ExplicitVisit(ColumnReferenceExpression node)
    {
        if (_words.Contains(node) || node.MultiPartIdentifier == null)
            return;
        if (!TypeOf(node, out _))
            Fault(node, $"no column {string.Join('.', node.MultiPartIdentifier.Identifiers.Select(i => i.Value))}");
    }

    private bool TypeOf(ColumnReferenceExpression node, out SqlType? type)
    {
        var ids = node.MultiPartIdentifier.Identifiers;
        type = null;
        foreach (var scope in _scopes)
        {
            if (ids.Count == 1)
            {
                if (scope.Target?.TryGetValue(ids[0].Value, out type) == true ||
                    scope.Values.Any(c => c?.ContainsKey(ids[0].Value) == true))
                    return true;
            }
            else if (ids[0].Value is "inserted" or "deleted")
            {
                if (scope.Target != null)
                    return scope.Target.TryGetValue(ids[1].Value, out type);
            }
            else if (scope.TryGetValue(ids[0].Value, out var columns))
            {
                return columns == null || columns.TryGetValue(ids[1].Value, out type);
            }
        }
        return false;
    }

    public override void ExplicitVisit(VariableReference node)
    {
        if (!_variables.ContainsKey(node.Name) && !_tables.ContainsKey(node.Name))
            Fault(node, $"no variable {node.Name}");
    }

    // ---- types

    /// <summary>A text from outside may become an id.</summary>
    private static bool Agrees(SqlType type, SqlType with) =>
        type.Class == "any" ? with.Class is "text" or "guid" : type.Class == with.Class;

    private void Fits(TSqlFragment at, SqlType? column, ScalarExpression value)
    {
        if (column == null || value is not VariableReference v || !_variables.TryGetValue(v.Name, out var type))
            return;
        if (!Agrees(type, column))
            Fault(at, $"{v.Name} is {type.Name}, its column {column.Name}");
        else if (type.Class == "text" && type.Length > column.Length)
            Fault(at, $"{v.Name} is longer than its column");
    }

    public override void ExplicitVisit(AssignmentSetClause node)
    {
        if (node.Column != null && TypeOf(node.Column, out var type))
            Fits(node, type, node.NewValue);
        base.ExplicitVisit(node);
    }

    public override void ExplicitVisit(BooleanComparisonExpression node)
    {
        SqlType? first = null, second = null;
        if (node.FirstExpression is ColumnReferenceExpression a && !_words.Contains(a) && TypeOf(a, out first) &&
            node.SecondExpression is VariableReference v && _variables.TryGetValue(v.Name, out second) &&
            first != null && !Agrees(second, first))
            Fault(node, $"{v.Name} is {second.Name}, what it is compared with {first.Name}");
        if (first is { Class: "time" } && second is { Class: "time" } && first.Length < second.Length)
            Fault(node, $"a time of {first.Length} places is compared with one of {second.Length}");
        base.ExplicitVisit(node);
    }

    // ---- calls

    public override void ExplicitVisit(ExecuteSpecification node)
    {
        if (node.ExecutableEntity is ExecutableProcedureReference call)
            Call(call);
        if (node.Variable != null)
            Visit(node.Variable);
    }

    private void Call(ExecutableProcedureReference call)
    {
        var name = call.ProcedureReference.ProcedureReference.Name;
        foreach (var p in call.Parameters)
            p.ParameterValue.Accept(this);
        if (name.BaseIdentifier.Value == "sp_getapplock")
            return;
        if (name.SchemaIdentifier?.Value != "infra" || !_model.Procedures.TryGetValue(name.BaseIdentifier.Value, out var procedure))
        {
            Fault(call, $"no procedure {name.BaseIdentifier.Value}");
            return;
        }
        foreach (var p in call.Parameters)
        {
            var parameter = procedure.Parameters.FirstOrDefault(q => q.Name == p.Variable?.Name);
            if (parameter == null)
                Fault(call, $"{procedure.Name} has no parameter {p.Variable?.Name}");
            else if (p.ParameterValue is VariableReference v && _variables.TryGetValue(v.Name, out var type) &&
                     !Agrees(type, parameter.Type))
                Fault(call, $"{procedure.Name} takes {parameter.Name} as {parameter.Type.Name}, not as {type.Name}");
        }
        foreach (var p in procedure.Parameters.Where(p => !p.HasDefault && !call.Parameters.Any(q => q.Variable?.Name == p.Name)))
            Fault(call, $"{procedure.Name} needs {p.Name}");
    }
}
