// SPDX-License-Identifier: Apache-2.0
using System.Text.Json;
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Waypost.SqlServer.Parser;

/// <summary>One text that the library can send, as render.c printed it.</summary>
public sealed record Sent(string Kind, string Name, string Names, string Style, string Text, IReadOnlyList<Value> Params)
{
    public static IReadOnlyList<Sent> All { get; } = Read();

    public static IEnumerable<Sent> Plain(string kind) => All.Where(s => s.Kind == kind && s.Names == "plain");

    /// <summary>The text as the parser takes it: question marks are no T-SQL.</summary>
    public string Parsable()
    {
        if (Style != "qmark")
            return Text;
        var parts = Text.Split('?');
        if (parts.Length != Params.Count + 1)
            throw new InvalidOperationException($"{Name}: {Params.Count} values, {parts.Length - 1} places");
        return string.Concat(parts.Select((p, i) => i == 0 ? p : $"@p{i}{p}"));
    }

    public override string ToString() => $"{Kind} {Name}, {Names} names, {Style}";

    private static List<Sent> Read()
    {
        var path = Environment.GetEnvironmentVariable("WAYPOST_SENT")
            ?? throw new InvalidOperationException("WAYPOST_SENT is not set: run tools/sqlserver.sh");
        var options = new JsonSerializerOptions { PropertyNameCaseInsensitive = true };
        var all = JsonSerializer.Deserialize<List<Sent>>(File.ReadAllText(path), options)!;
        Assert.NotEmpty(all);
        return all;
    }
}

/// <summary>A value of a statement.</summary>
public sealed record Value(string Name, bool Number);

internal static class Parsers
{
    /// <summary>The grammars of SQL Server 2016 and 2022.</summary>
    public static IReadOnlyList<(string Name, TSqlParser Parser)> All { get; } =
        [("2016", new TSql130Parser(true)), ("2022", new TSql160Parser(true))];

    public static TSqlScript Read(string text)
    {
        var script = (TSqlScript)All[0].Parser.Parse(new StringReader(text), out var errors);
        Assert.Empty(errors.Select(e => $"{e.Line}:{e.Column} {e.Message}"));
        return script;
    }
}
