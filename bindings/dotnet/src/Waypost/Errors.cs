// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// The base of the errors that Waypost reports. Bad arguments are <see cref="ArgumentException"/>
/// and <see cref="ArgumentOutOfRangeException"/>; calls that do not fit an object's state
/// <see cref="InvalidOperationException"/> and <see cref="ObjectDisposedException"/>. On a
/// connection of the app's, errors of its provider pass through.
/// </summary>
public class WaypostException : DbException
{
    private readonly Details _details;

    internal WaypostException(string message, Details details) : base(message) =>
        _details = details;

    /// <summary>The five-character SQLSTATE, or null.</summary>
    public override string? SqlState =>
        string.IsNullOrEmpty(_details.SqlState) ? null : _details.SqlState;

    /// <summary>The engine's own code (SQLite: the extended result code), or 0.</summary>
    public long NativeCode => _details.NativeCode;

    /// <summary>Whether the same call may well succeed later.</summary>
    public bool IsRetriable => _details.IsRetriable;

    /// <summary>The same, under the name that ADO.NET has for it.</summary>
    public override bool IsTransient => IsRetriable;

    /// <summary>Whether a commit was sent and its outcome is unknown.</summary>
    public bool OutcomeUnknown => _details.OutcomeUnknown;
}

/// <summary>What was asked for does not exist.</summary>
public sealed class NotFoundException : WaypostException
{
    internal NotFoundException(string message, Details details) : base(message, details) { }
}

/// <summary>The claim is no longer held; nothing was changed.</summary>
public sealed class LeaseLostException : WaypostException
{
    internal LeaseLostException(string message, Details details) : base(message, details) { }
}

/// <summary>The database cannot be reached, or stayed busy; try again.</summary>
public sealed class UnavailableException : WaypostException
{
    internal UnavailableException(string message, Details details) : base(message, details) { }
}

/// <summary>Any other database error; see SqlState and NativeCode.</summary>
public sealed class DatabaseException : WaypostException
{
    internal DatabaseException(string message, Details details) : base(message, details) { }
}

/// <summary>The schema is missing, or older than this library needs.</summary>
public sealed class SchemaException : WaypostException
{
    internal SchemaException(string message, Details details) : base(message, details) { }
}

/// <summary>An unknown or bad option.</summary>
public sealed class ConfigException : WaypostException
{
    internal ConfigException(string message, Details details) : base(message, details) { }
}

/// <summary>The worker is stopped.</summary>
public sealed class StoppedException : WaypostException
{
    internal StoppedException(string message, Details details) : base(message, details) { }
}

/// <summary>Thrown by a handler: try the message again.</summary>
public sealed class RetryException : Exception
{
    /// <summary>Try again after the delay, by default the backoff.</summary>
    public RetryException(string? reason = null, TimeSpan? delay = null) : base(reason) =>
        (Reason, Delay) = (reason, delay);

    /// <summary>Stored as the message's last error.</summary>
    public string? Reason { get; }

    /// <summary>After how long; null: the backoff.</summary>
    public TimeSpan? Delay { get; }
}

/// <summary>Thrown by a handler: make the message a dead letter.</summary>
public sealed class RejectException : Exception
{
    /// <summary>Give it up at once.</summary>
    public RejectException(string? reason = null) : base(reason) => Reason = reason;

    /// <summary>Stored as the message's last error.</summary>
    public string? Reason { get; }
}
