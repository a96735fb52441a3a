// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

/// <summary>The core's errors as exceptions.</summary>
internal static unsafe class Failure
{
    /// <summary>Throw unless the call went well. Frees the error.</summary>
    public static void Check(wp_status status, nint error)
    {
        if (status != wp_status.WP_OK)
            throw Make(status, error);
    }

    public static Exception Make(wp_status status, nint error)
    {
        string message = error == 0 ? Utf8.Text(Native.wp_status_name(status))
                                    : Utf8.Text(Native.wp_error_message(error));
        Details details = error == 0 ? default : new Details(
            Utf8.Text(Native.wp_error_sqlstate(error)),
            Native.wp_error_native_code(error),
            Native.wp_error_retriable(error) != 0,
            Native.wp_error_outcome_unknown(error) != 0);
        Native.wp_error_free(error);
        return status switch
        {
            wp_status.WP_E_ARGUMENT => new ArgumentException(message),
            wp_status.WP_E_RANGE => new ArgumentOutOfRangeException(null, message),
            wp_status.WP_E_STATE => new InvalidOperationException(message),
            wp_status.WP_E_NOT_FOUND => new NotFoundException(message, details),
            wp_status.WP_E_LEASE_LOST => new LeaseLostException(message, details),
            wp_status.WP_E_UNAVAILABLE => new UnavailableException(message, details),
            wp_status.WP_E_DB => new DatabaseException(message, details),
            wp_status.WP_E_SCHEMA => new SchemaException(message, details),
            wp_status.WP_E_CONFIG => new ConfigException(message, details),
            wp_status.WP_E_NOMEM => new OutOfMemoryException(message),
            wp_status.WP_E_TIMEOUT => new TimeoutException(message),
            wp_status.WP_E_STOPPED => new StoppedException(message, details),
            _ => new WaypostException(message, details),
        };
    }
}

/// <summary>What the core knows of an error beyond its kind.</summary>
internal readonly record struct Details(
    string? SqlState, long NativeCode, bool IsRetriable, bool OutcomeUnknown);
