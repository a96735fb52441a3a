// SPDX-License-Identifier: Apache-2.0
using System.Globalization;
using System.Text;

namespace Waypost.Interop;

/// <summary>An operation under way on a connection of the app's: statements out, rows in.</summary>
internal sealed unsafe class OperationHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_op_free(pointer);

    public void SetStyle(wp_paramstyle style)
    {
        nint error = 0;
        Failure.Check(Native.wp_op_set_paramstyle(this, style, &error), error);
    }

    /// <summary>Whether there is a further statement to execute.</summary>
    public bool Next()
    {
        nint error = 0;
        int more = 0;
        Failure.Check(Native.wp_op_next(&more, this, &error), error);
        return more != 0;
    }

    public string Sql => Utf8.Text(Native.wp_op_sql(this));

    public bool ReturnsRows => Native.wp_op_returns_rows(this) != 0;

    public int ParameterCount => (int)Native.wp_op_param_count(this);

    /// <summary>A parameter's name, and its value as a long, string, byte[] or null.</summary>
    public (string Name, object? Value) Parameter(int index)
    {
        NativeParameter native;
        Native.wpn_param_read(&native, this, (nuint)index);
        object? value = (wp_value_type)native.Type switch
        {
            wp_value_type.WP_VALUE_INT64 => native.Integer,
            wp_value_type.WP_VALUE_TEXT => Encoding.UTF8.GetString(native.Data, checked((int)native.Length)),
            wp_value_type.WP_VALUE_BYTES => Utf8.Bytes(native.Data, native.Length),
            _ => null,
        };
        return (Utf8.Text(native.Name), value);
    }

    /// <summary>Feed the next column of the current row, as a provider gave it.</summary>
    public void Feed(object? value)
    {
        nint error = 0;
        switch (value)
        {
            case null or DBNull:
                Failure.Check(Native.wp_op_feed_null(this, &error), error);
                break;
            case string text:
                FeedText(Encoding.UTF8.GetBytes(text));
                break;
            case byte[] bytes:
                fixed (byte* data = bytes)
                    Failure.Check(
                        Native.wp_op_feed_bytes(this, data, (nuint)bytes.Length, &error), error);
                break;
            case Guid id:
                FeedText(Encoding.ASCII.GetBytes(id.ToString()));
                break;
            default: // whatever integer or boolean the provider has for it
                long number = Convert.ToInt64(value, CultureInfo.InvariantCulture);
                Failure.Check(Native.wp_op_feed_int64(this, number, &error), error);
                break;
        }
    }

    private void FeedText(byte[] text)
    {
        nint error = 0;
        fixed (byte* data = text)
            Failure.Check(Native.wp_op_feed_text(this, data, (nuint)text.Length, &error), error);
    }

    public void EndRow()
    {
        nint error = 0;
        Failure.Check(Native.wp_op_row(this, &error), error);
    }

    public long ResultCount => (long)Native.wp_op_result_count(this);

    public EnqueueResult[] Results()
    {
        var results = new EnqueueResult[ResultCount];
        for (int i = 0; i < results.Length; i++)
        {
            nint error = 0;
            WpId id;
            Failure.Check(Native.wp_op_result_id(&id, this, (nuint)i, &error), error);
            results[i] = new EnqueueResult(id, Native.wp_op_result_duplicate(this, (nuint)i) != 0);
        }
        return results;
    }

    /// <summary>Of an acquire, a renewal or a look at a lease.</summary>
    public LeaseInfo ResultLease()
    {
        nint error = 0;
        Failure.Check(
            Native.wp_op_result_lease(out LeaseInfoHandle info, this, &error), error);
        using (info)
            return info.Read();
    }

    /// <summary>Of a look at a job.</summary>
    public JobInfo ResultJob()
    {
        nint error = 0;
        Failure.Check(Native.wp_op_result_jobs(out JobsHandle jobs, this, &error), error);
        using (jobs)
            return jobs.Infos()[0];
    }

    /// <summary>What an operation of the inbox found.</summary>
    public InboxResult[] InboxResults()
    {
        var results = new InboxResult[ResultCount];
        for (int i = 0; i < results.Length; i++)
        {
            WpId id;
            bool known = Native.wp_op_result_id(&id, this, (nuint)i, null) == wp_status.WP_OK;
            results[i] = new InboxResult(
                known ? (Guid)id : null,
                (InboxState)Native.wp_op_result_found(this, (nuint)i),
                Native.wp_op_result_mismatch(this, (nuint)i) != 0);
        }
        return results;
    }
}
