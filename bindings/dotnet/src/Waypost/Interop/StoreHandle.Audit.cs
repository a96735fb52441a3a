// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class AuditHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_audit_free(pointer);

    /// <summary>The number of the last one on the page; 0: there is none.</summary>
    public long Last => Native.wp_audit_count(this) is var count and > 0 ? Native.wp_audit_number(this, count - 1) : 0;

    public AuditEntry[] Entries()
    {
        var entries = new AuditEntry[(int)Native.wp_audit_count(this)];
        for (int i = 0; i < entries.Length; i++)
        {
            nuint at = (nuint)i;
            wp_source queue = Native.wp_audit_source(this, at);
            entries[i] = new AuditEntry(
                Native.wp_audit_number(this, at),
                Times.FromUs(Native.wp_audit_at_us(this, at)),
                Utf8.OptionalText(Native.wp_audit_actor(this, at)),
                Utf8.Text(Native.wp_audit_action(this, at)),
                queue == wp_source.WP_SOURCE_ALL ? null : (WaypostQueue)(int)queue,
                Utf8.OptionalText(Native.wp_audit_subject(this, at)),
                Utf8.OptionalText(Native.wp_audit_detail(this, at)));
        }
        return entries;
    }
}

/// <summary>The audit.</summary>
internal sealed unsafe partial class StoreHandle
{
    public AuditHandle Audit(AuditHandle? before, long limit)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_audit_read(out AuditHandle page, this, before?.Last ?? 0, limit, &error), error);
        return page;
    }
}
