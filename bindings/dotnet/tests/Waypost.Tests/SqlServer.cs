// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using System.Data.Common;
using System.Globalization;
using System.Runtime.CompilerServices;
using Microsoft.Data.SqlClient;
using Xunit.Abstractions;
using Xunit.Sdk;

[assembly: TestFramework("Waypost.Tests.WhereServersAre", "Waypost.Tests")]

namespace Waypost.Tests;

public abstract partial class Engine
{
    /// <summary>The server that WAYPOST_TEST_MSSQL leads to: what unixODBC connects with, without a database.</summary>
    private sealed class SqlServerEngine : Engine
    {
        private static string Server =>
            Environment.GetEnvironmentVariable(SqlServerFact.Variable)
            ?? throw new InvalidOperationException($"{SqlServerFact.Variable} names no server");

        /// <summary>Of what a deployment makes, so that a test which changed it is noticed.</summary>
        private const string Fingerprint =
            "SELECT (SELECT COUNT(*) FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id WHERE t.name <> 'orders')"
            + " + 1000 * (SELECT COUNT(*) FROM sys.procedures)";
        private const string Tables =
            "SELECT QUOTENAME(s.name) + '.' + QUOTENAME(t.name) FROM sys.tables AS t"
            + " JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.name <> 'migration' AND t.name <> 'orders'";

        /// <summary>Databases whose tables were made, which takes long: they are emptied and used again.</summary>
        private static readonly ConcurrentBag<string> Idle = [];
        private static readonly ConcurrentDictionary<string, int> Deployed = new();
        private static readonly ConcurrentDictionary<string, string> Emptying = new();
        private static readonly Lock Making = new();

        static SqlServerEngine() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
        {
            foreach (string url in Idle)
                DropDatabase(url);
        };

        public static string ConnectionString(string url)
        {
            var given = new DbConnectionStringBuilder(useOdbcRules: true) { ConnectionString = url["odbc:".Length..] };
            string Value(string key) => given.TryGetValue(key, out object? value) ? (string)value : "";
            return new SqlConnectionStringBuilder
            {
                DataSource = Value("Port") is { Length: > 0 } port ? $"{Value("Server")},{port}" : Value("Server"),
                UserID = Value("UID"),
                Password = Value("PWD"),
                InitialCatalog = Value("Database"),
                Encrypt = SqlConnectionEncryptOption.Optional,
                TrustServerCertificate = true,
                Pooling = false,
                CommandTimeout = 120, // the first statements of a connection may take long
            }.ConnectionString;
        }

        private static SqlConnection Open(string url)
        {
            var connection = new SqlConnection(ConnectionString(url));
            connection.Open();
            return connection;
        }

        private static List<string> Column(SqlConnection connection, string sql)
        {
            using SqlCommand command = connection.CreateCommand();
            command.CommandText = sql;
            using SqlDataReader reader = command.ExecuteReader();
            var values = new List<string>();
            while (reader.Read())
                values.Add(Convert.ToString(reader.GetValue(0), CultureInfo.InvariantCulture)!);
            return values;
        }

        public override string NewUrl(string folder)
        {
            if (Idle.TryTake(out string? url))
                return url;
            string name = $"net_{Guid.NewGuid():N}";
            lock (Making)
            {
                using SqlConnection connection = Open($"odbc:{Server}");
                Bed.Execute(connection, $"CREATE DATABASE {name}");
                try // else a look waits for transactions that write
                {
                    Bed.Execute(connection, $"ALTER DATABASE {name} SET READ_COMMITTED_SNAPSHOT ON");
                    Bed.Execute(connection, $"ALTER DATABASE {name} SET ALLOW_SNAPSHOT_ISOLATION ON");
                }
                catch (SqlException) // a server that speaks TDS and has no others
                {
                }
            }
            return $"odbc:{Server};Database={name}";
        }

        public override void Drop(string url)
        {
            bool again;
            using (SqlConnection connection = Open(url))
            {
                int now = int.Parse(Column(connection, Fingerprint)[0], CultureInfo.InvariantCulture);
                again = Deployed.GetOrAdd(url, now) == now;
                if (again)
                    Bed.Execute(connection, Emptying.GetOrAdd(url, _ =>
                        string.Concat(Column(connection, Tables).Select(table => $"DELETE FROM {table};")) + "DROP TABLE orders"));
            }
            if (again)
                Idle.Add(url);
            else
                DropDatabase(url);
        }

        private static void DropDatabase(string url)
        {
            lock (Making)
            {
                using SqlConnection connection = Open($"odbc:{Server}");
                Bed.Execute(connection, $"DROP DATABASE {url[(url.LastIndexOf('=') + 1)..]}");
            }
        }

        public override DbConnection Connect(WaypostStore store) => Open($"odbc:{store.Location}");

        public override string Begin => "BEGIN TRANSACTION";

        public override string CreateOrders => "CREATE TABLE orders (id INT IDENTITY PRIMARY KEY, name NVARCHAR(100))";

        public override void Configure(WaypostOptions options) => options.Settings["store.response_timeout_ms"] = "120000";
    }

    /// <summary>The app's connection string for a store's database.</summary>
    public static string SqlServerConnectionString(string url) => SqlServerEngine.ConnectionString(url);
}

/// <summary>A test that needs SQL Server; it says so where there is none.</summary>
public sealed class SqlServerFact : FactAttribute
{
    public const string Variable = "WAYPOST_TEST_MSSQL";

    public static bool IsThere => !string.IsNullOrEmpty(Environment.GetEnvironmentVariable(Variable));

    public SqlServerFact()
    {
        if (!IsThere)
            Skip = $"SQL Server: {Variable} is not set: nothing here has run on one";
    }
}

/// <summary>What a server of SQL Server's kind may lack; it is tried.</summary>
public enum Ability
{
    /// <summary>OPENJSON undoes escapes.</summary>
    EscapesInJson,
    /// <summary>TRY catches that LOCK_TIMEOUT was over, as error 1222.</summary>
    LockTimeoutsCaught,
}

/// <summary>For tests that need more than each server of SQL Server's kind has.</summary>
public static class Abilities
{
    private static readonly ConcurrentDictionary<Ability, Lazy<bool>> Known = new();

    private static bool Has(Ability ability) =>
        Known.GetOrAdd(ability, one => new(() => one == Ability.EscapesInJson ? ReadsEscapes() : CatchesTimeouts())).Value;

    /// <summary>Said loudly: xUnit cannot skip a test that has begun.</summary>
    public static bool AreMissing(Engine engine, Ability ability, [CallerMemberName] string test = "")
    {
        if (engine != Engine.SqlServer || Has(ability))
            return false;
        Console.Error.WriteLine($"SKIPPED: {test} on SQL Server: this server lacks {ability}");
        return true;
    }

    private static bool ReadsEscapes()
    {
        using var connection = new SqlConnection(Engine.SqlServerConnectionString(
            $"odbc:{Environment.GetEnvironmentVariable(SqlServerFact.Variable)}"));
        connection.Open();
        using SqlCommand command = connection.CreateCommand();
        command.CommandText = "SELECT COUNT(*) FROM OPENJSON(N'[\"a\\\"\"]') AS j WHERE j.value = N'a\"'";
        return Convert.ToInt32(command.ExecuteScalar(), CultureInfo.InvariantCulture) == 1;
    }

    private static bool CatchesTimeouts()
    {
        string url = Engine.SqlServer.NewUrl("");
        using (SqlConnection holder = new(Engine.SqlServerConnectionString(url)), other = new(Engine.SqlServerConnectionString(url)))
        {
            holder.Open();
            other.Open();
            Bed.Execute(holder, "CREATE TABLE held (k INT NOT NULL PRIMARY KEY)");
            Bed.Execute(holder, "INSERT INTO held VALUES (1)");
            using SqlTransaction transaction = holder.BeginTransaction();
            Bed.Execute(holder, "UPDATE held SET k = k", transaction);
            try
            {
                Bed.Execute(other, "SET LOCK_TIMEOUT 0; BEGIN TRY UPDATE held SET k = 2 END TRY"
                                   + " BEGIN CATCH IF ERROR_NUMBER() <> 1222 THROW; END CATCH");
                return true;
            }
            catch (SqlException)
            {
                return false;
            }
        }
    }
}

/// <summary>Leaves out the suites of SQL Server where there is none: one test says that they were skipped.</summary>
public sealed class WhereServersAre(IMessageSink messageSink) : XunitTestFramework(messageSink)
{
    protected override ITestFrameworkDiscoverer CreateDiscoverer(IAssemblyInfo assemblyInfo) =>
        new Discoverer(assemblyInfo, SourceInformationProvider, DiagnosticMessageSink);

    private sealed class Discoverer(IAssemblyInfo assembly, ISourceInformationProvider source, IMessageSink sink)
        : XunitTestFrameworkDiscoverer(assembly, source, sink)
    {
        protected override bool IsValidTestClass(ITypeInfo type) =>
            base.IsValidTestClass(type) && (SqlServerFact.IsThere || !NeedsServer(type));

        private static bool NeedsServer(ITypeInfo type) =>
            type.GetCustomAttributes(typeof(TraitAttribute)).Any(
                trait => trait.GetConstructorArguments().SequenceEqual(new object[] { "Engine", "sqlserver" }));
    }
}

public sealed class SqlServerTests
{
    [SqlServerFact]
    public void Suites_run_on_sql_server()
    {
        string url = Engine.SqlServer.NewUrl("");
        using var connection = new SqlConnection(Engine.SqlServerConnectionString(url));
        connection.Open();
        Assert.NotEmpty(connection.ServerVersion);
        Bed.Execute(connection, Engine.SqlServer.CreateOrders);
        connection.Close();
        Engine.SqlServer.Drop(url);
    }

    [Theory]
    [InlineData("odbc:Driver={ODBC Driver 18 for SQL Server};Server=db;Database=app;UID=u;PWD=p;TrustServerCertificate=yes", "db", "app", "p")]
    [InlineData("odbc:Driver=FreeTDS;Server=db;Port=11433;Uid=u;Pwd=a=b;TDS_Version=7.4", "db,11433", "", "a=b")]
    public void The_apps_connection_string_says_what_the_stores_says(string url, string source, string database, string password)
    {
        var app = new SqlConnectionStringBuilder(Engine.SqlServerConnectionString(url));
        Assert.Equal((source, database, "u", password), (app.DataSource, app.InitialCatalog, app.UserID, app.Password));
    }

    /// <summary>Nothing that is of one length alone goes to another engine's provider, or by ODBC.</summary>
    [Theory]
    [InlineData("sqlserver", "AT", true)]
    [InlineData("sqlserver", "QMARK", false)]
    [InlineData("postgresql", "AT", false)]
    [InlineData("sqlite", "AT", false)]
    public void Texts_are_declared_by_type_for_sqlclient_alone(string engine, string style, bool sized) =>
        Assert.Equal(sized, OnApps.SizedByType(Enum.Parse<Interop.wp_paramstyle>("WP_PARAM_" + style), engine));
}
