// SPDX-License-Identifier: Apache-2.0
using System.Collections;
using System.Text;
using Microsoft.Extensions.Logging;
using Waypost.Interop;

namespace Waypost;

/// <summary>The core's log records as those of ILogger. Never a payload.</summary>
internal static class WaypostLog
{
    public static void Attach(ConfigHandle config, ILogger logger)
    {
        config.Set("log.level", LevelName(logger));
        config.SetLog((level, message, fields) =>
        {
            LogLevel found = LevelOf(level);
            if (logger.IsEnabled(found))
                logger.Log(found, default, new Record(message, fields), null, (r, _) => r.ToString());
        });
    }

    private static LogLevel LevelOf(int level) => (wp_log_level)level switch
    {
        wp_log_level.WP_LOG_DEBUG => LogLevel.Debug,
        wp_log_level.WP_LOG_INFO => LogLevel.Information,
        wp_log_level.WP_LOG_WARNING => LogLevel.Warning,
        _ => LogLevel.Error,
    };

    /// <summary>The core's level that fits what the logger lets through.</summary>
    private static string LevelName(ILogger logger) =>
        logger.IsEnabled(LogLevel.Debug) ? "debug"
        : logger.IsEnabled(LogLevel.Information) ? "info"
        : logger.IsEnabled(LogLevel.Warning) ? "warning"
        : logger.IsEnabled(LogLevel.Error) ? "error"
        : "off";

    /// <summary>A record with its values, for structured logging.</summary>
    private sealed class Record : IReadOnlyList<KeyValuePair<string, object?>>
    {
        private readonly string _text;
        private readonly List<KeyValuePair<string, object?>> _values;

        public Record(string message, byte[] fields)
        {
            _text = $"{message} {Encoding.UTF8.GetString(fields)}";
            _values = Json.Scalars(fields);
            _values.Add(new("{OriginalFormat}", message));
        }

        public KeyValuePair<string, object?> this[int index] => _values[index];
        public int Count => _values.Count;
        public IEnumerator<KeyValuePair<string, object?>> GetEnumerator() => _values.GetEnumerator();
        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
        public override string ToString() => _text;
    }
}
