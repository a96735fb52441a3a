// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

/// <summary>How operations run on a connection that the app already has.</summary>
internal static class OnApps
{
    private static readonly ConcurrentDictionary<Type, wp_paramstyle> Styles = new();

    public static DbConnection ConnectionOf(DbTransaction transaction)
    {
        ArgumentNullException.ThrowIfNull(transaction);
        return transaction.Connection ?? throw new InvalidOperationException(
            "the transaction is over: it was committed, rolled back or disposed");
    }

    /// <summary>In a transaction of the app's.</summary>
    public static Task<T> RunAsync<T>(
        DbTransaction transaction, string engine, OperationHandle operation,
        Func<OperationHandle, T> result, CancellationToken cancellationToken) =>
        RunAsync(ConnectionOf(transaction), transaction, engine, operation, result, cancellationToken);

    /// <summary>Execute what the operation asks for, and free it.</summary>
    public static async Task<T> RunAsync<T>(
        DbConnection connection, DbTransaction? transaction, string engine,
        OperationHandle operation, Func<OperationHandle, T> result,
        CancellationToken cancellationToken)
    {
        using (operation)
        {
            wp_paramstyle style = Styles.GetOrAdd(connection.GetType(), StyleOf);
            if (engine == "sqlite")
                SqliteCopies.Check(connection);
            operation.SetStyle(style);
            while (operation.Next())
            {
                DbCommand command = connection.CreateCommand();
                await using (command.ConfigureAwait(false))
                {
                    Prepare(command, transaction, operation, style, engine);
                    await ExecuteAsync(command, operation, cancellationToken).ConfigureAwait(false);
                }
            }
            return result(operation);
        }
    }

    private static void Prepare(
        DbCommand command, DbTransaction? transaction, OperationHandle operation,
        wp_paramstyle style, string engine)
    {
        if (transaction is not null)
            command.Transaction = transaction;
#pragma warning disable CA2100 // the core's own statements, with parameters
        command.CommandText = operation.Sql;
#pragma warning restore CA2100
        for (int i = 0; i < operation.ParameterCount; i++)
        {
            (string name, object? value) = operation.Parameter(i);
            DbParameter parameter = command.CreateParameter();
            if (style != wp_paramstyle.WP_PARAM_QMARK)
                parameter.ParameterName = "@" + name;
            parameter.Value = value ?? DBNull.Value;
            if (value is string text && SizedByType(style, engine))
                parameter.Size = text.Length <= NVarCharMax ? NVarCharMax : -1;
            command.Parameters.Add(parameter);
        }
    }

    private const int NVarCharMax = 4000;

    /// <summary>SqlClient declares a text as NVARCHAR of its length, and the server keeps a plan for each length that it
    /// has seen. ODBC's parameters are of the length that they have.</summary>
    internal static bool SizedByType(wp_paramstyle style, string engine) =>
        engine == "sqlserver" && style != wp_paramstyle.WP_PARAM_QMARK;

    private static async Task ExecuteAsync(
        DbCommand command, OperationHandle operation, CancellationToken cancellationToken)
    {
        if (!operation.ReturnsRows)
        {
            await command.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
            return;
        }
        DbDataReader reader =
            await command.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
        await using (reader.ConfigureAwait(false))
        {
            do
            {
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    for (int column = 0; column < reader.FieldCount; column++)
                        operation.Feed(reader.GetValue(column));
                    operation.EndRow();
                }
            } // a procedure's error may come behind its rows
            while (await reader.NextResultAsync(cancellationToken).ConfigureAwait(false));
        }
    }

    /// <summary>ADO.NET's providers take names but for ODBC's.</summary>
    private static wp_paramstyle StyleOf(Type type)
    {
        for (Type? kind = type; kind is not null; kind = kind.BaseType)
            if (kind.FullName == "System.Data.Odbc.OdbcConnection")
                return wp_paramstyle.WP_PARAM_QMARK;
        return wp_paramstyle.WP_PARAM_AT;
    }
}
