// SPDX-License-Identifier: Apache-2.0
using System.Text.RegularExpressions;

namespace Waypost.Interop;

/// <summary>The core's errors as exceptions.</summary>
internal static unsafe partial class Failure
{
    /// <summary>Throw unless the call went well. Frees the error.</summary>
    public static void Check(wp_status status, nint error)
    {
        if (status != wp_status.WP_OK)
            throw Make(status, error);
    }

    [GeneratedRegex("^([a-z][a-z_]*?)(_[mu]s)?(\\[[0-9]+\\])? (is|has|holds|must|names|makes) ")]
    private static partial Regex Subject();

    /// <summary>What the core's sentence is about, as it is called here: in camel case, and without a unit of
    /// time; null where it is about something else.</summary>
    private static string? Parameter(string message)
    {
        Match subject = Subject().Match(message);
        if (!subject.Success)
            return null;
        string[] words = subject.Groups[1].Value.Split('_');
        return words is ["batch"] ? "batchSize"
            : words[0] + string.Concat(words.Skip(1).Select(word => char.ToUpperInvariant(word[0]) + word[1..]));
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
            wp_status.WP_E_ARGUMENT => new ArgumentException(message, Parameter(message)),
            wp_status.WP_E_RANGE => new ArgumentOutOfRangeException(Parameter(message), message),
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
