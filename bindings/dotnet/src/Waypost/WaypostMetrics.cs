// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.Metrics;
using System.Text.Json;

namespace Waypost;

/// <summary>One number.</summary>
/// <param name="Name">Its name; of a histogram they are name_bucket (by the label le), name_sum and
/// name_count.</param>
/// <param name="Kind">"counter", "gauge" or "histogram".</param>
/// <param name="Labels">What it is of.</param>
/// <param name="Value">The number.</param>
public sealed record WaypostSample(
    string Name, string Kind, IReadOnlyDictionary<string, string> Labels, double Value);

/// <summary>A snapshot of what a worker and its stores have done and hold. docs/operations.md lists
/// them.</summary>
public sealed class WaypostMetrics
{
    private readonly string _json;
    private IReadOnlyList<WaypostSample>? _samples;

    internal WaypostMetrics(string text, string json) => (Text, _json) = (text, json);

    /// <summary>In Prometheus' text format.</summary>
    public string Text { get; }

    /// <summary>One by one.</summary>
    public IReadOnlyList<WaypostSample> Samples => _samples ??= Parse();

    /// <summary>The sum of the samples of a name that have these labels; 0: there are none.</summary>
    public double Value(string name, params (string Label, string Value)[] labels) => Samples
        .Where(sample => sample.Name == name
            && labels.All(l => sample.Labels.TryGetValue(l.Label, out string? value) && value == l.Value))
        .Sum(sample => sample.Value);

    /// <summary>What each is, from the text's comments.</summary>
    internal Dictionary<string, string> Meanings()
    {
        const string mark = "# HELP ";
        var meanings = new Dictionary<string, string>();
        foreach (string line in Text.Split('\n'))
            if (line.StartsWith(mark, StringComparison.Ordinal)
                && line.IndexOf(' ', mark.Length) is var end and > 0)
                meanings[line[mark.Length..end]] = line[(end + 1)..];
        return meanings;
    }

    private List<WaypostSample> Parse()
    {
        using JsonDocument document = JsonDocument.Parse(_json);
        var samples = new List<WaypostSample>();
        foreach (JsonElement one in document.RootElement.EnumerateArray())
        {
            var labels = new Dictionary<string, string>();
            foreach (JsonProperty label in one.GetProperty("labels").EnumerateObject())
                labels[label.Name] = label.Value.GetString()!;
            samples.Add(new WaypostSample(
                one.GetProperty("name").GetString()!, one.GetProperty("kind").GetString()!, labels,
                one.GetProperty("value").GetDouble()));
        }
        return samples;
    }
}

/// <summary>
/// The metrics of a worker or a store as instruments of a meter, for OpenTelemetry and what else listens to
/// meters. They are those of <see cref="WaypostMetrics"/>, under the same names; the core counts, and this reads.
/// In a host the worker's are there by themselves.
/// </summary>
public sealed class WaypostMeter : IDisposable
{
    /// <summary>The name of the meter, and of the activity source.</summary>
    public const string Name = Tracing.Name;

    /// <summary>A listener asks one instrument after the other; they answer out of one snapshot.</summary>
    private static readonly TimeSpan Fresh = TimeSpan.FromMilliseconds(500);

    private readonly Meter _meter;
    private readonly bool _owned;
    private readonly Func<WaypostMetrics> _read;
    private readonly HashSet<string> _known = [];
    private readonly object _gate = new();
    private ILookup<string, WaypostSample> _samples = Enumerable.Empty<WaypostSample>().ToLookup(s => s.Name);
    private long _readAt = long.MinValue;
    private volatile bool _closed;

    /// <summary>Of a worker and its stores. Dispose of it before the worker.</summary>
    /// <param name="worker">The worker.</param>
    /// <param name="meter">Where the instruments are made; null: a meter of its own.</param>
    public WaypostMeter(OutboxWorker worker, Meter? meter = null)
        : this((worker ?? throw new ArgumentNullException(nameof(worker))).ReadMetrics, meter, null)
    {
    }

    /// <summary>Of a store alone, where no worker runs. Dispose of it before the store.</summary>
    /// <param name="store">The store.</param>
    /// <param name="meter">Where the instruments are made; null: a meter of its own.</param>
    public WaypostMeter(WaypostStore store, Meter? meter = null)
        : this((store ?? throw new ArgumentNullException(nameof(store))).ReadMetrics, meter, null)
    {
    }

    internal WaypostMeter(Func<WaypostMetrics> read, Meter? meter, IMeterFactory? factory)
    {
        _read = read;
        _owned = meter is null && factory is null; // a factory disposes of its own
        _meter = meter ?? factory?.Create(new MeterOptions(Name) { Version = Tracing.Version })
            ?? new Meter(Name, Tracing.Version);
        Ready = Task.Run(() =>
        {
            Refresh();
            return _making;
        });
    }

    /// <summary>Ends when the instruments are made that there are at first; further ones follow as there is
    /// something to tell.</summary>
    public Task Ready { get; }

    private volatile Task _making = Task.CompletedTask;

    /// <summary>The snapshot, read anew when it is no longer fresh.</summary>
    private ILookup<string, WaypostSample> Refresh()
    {
        lock (_gate)
        {
            if (_closed || (_readAt != long.MinValue
                && Environment.TickCount64 - _readAt < (long)Fresh.TotalMilliseconds))
                return _samples;
            WaypostMetrics metrics;
            try
            {
                metrics = _read();
            }
            catch (Exception e) when (e is ObjectDisposedException or InvalidOperationException)
            {
                return _samples = Enumerable.Empty<WaypostSample>().ToLookup(s => s.Name); // it is closed
            }
            _samples = metrics.Samples.ToLookup(sample => sample.Name);
            WaypostSample[] unknown = [.. _samples.Where(s => !_known.Contains(s.Key)).Select(s => s.First())];
            if (unknown.Length > 0)
                Announce(unknown, metrics.Meanings());
            _readAt = Environment.TickCount64;
            return _samples;
        }
    }

    private void Announce(WaypostSample[] unknown, Dictionary<string, string> meanings)
    {
        foreach (WaypostSample one in unknown)
            _known.Add(one.Name);
        // Not where a listener may be in the middle of its round.
        _making = Task.Run(() =>
        {
            foreach (WaypostSample one in unknown)
                if (!_closed)
                    Make(one, meanings.GetValueOrDefault(one.Name) ?? meanings.GetValueOrDefault(Family(one.Name)));
        });
    }

    private static string Family(string name) => name[..Math.Max(0, name.LastIndexOf('_'))];

    private void Make(WaypostSample sample, string? meaning)
    {
        string name = sample.Name;
        string? unit = name.Contains("_seconds", StringComparison.Ordinal)
                && !name.EndsWith("_bucket", StringComparison.Ordinal)
                && !name.EndsWith("_count", StringComparison.Ordinal) ? "s"
            : name.EndsWith("_bytes", StringComparison.Ordinal) ? "By" : null;
        if (sample.Kind == "gauge")
            _meter.CreateObservableGauge(name, () => Measure(name), unit, meaning);
        else
            _meter.CreateObservableCounter(name, () => Measure(name), unit, meaning);
    }

    private IEnumerable<Measurement<double>> Measure(string name)
    {
        if (_closed)
            return [];
        return Refresh()[name].Select(sample => new Measurement<double>(
            sample.Value, sample.Labels.Select(l => new KeyValuePair<string, object?>(l.Key, l.Value))));
    }

    /// <summary>Tell no more.</summary>
    public void Dispose()
    {
        _closed = true;
        lock (_gate) // nobody reads any more
            _samples = Enumerable.Empty<WaypostSample>().ToLookup(s => s.Name);
        if (_owned)
            _meter.Dispose();
    }
}
