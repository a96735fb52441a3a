// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Waypost.Interop;

internal sealed unsafe class ConfigHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_config_free(pointer);

    public static ConfigHandle New()
    {
        nint error = 0;
        Failure.Check(Native.wp_config_new(out ConfigHandle handle, &error), error);
        return handle;
    }

    public void Set(string key, string value)
    {
        nint error = 0;
        fixed (byte* k = Utf8.Name(nameof(key), key), v = Utf8.Name(key, value))
            Failure.Check(Native.wp_config_set(this, k, v, &error), error);
    }

    public string Get(string key)
    {
        nint error = 0;
        byte* text = null;
        fixed (byte* k = Utf8.Name(nameof(key), key))
            Failure.Check(Native.wp_config_get(&text, this, k, &error), error);
        return Take(text);
    }

    public void LoadEnvironment()
    {
        nint error = 0;
        Failure.Check(Native.wp_config_load_env(this, &error), error);
    }

    public void SetClock(ClockHandle clock)
    {
        nint error = 0;
        Failure.Check(Native.wp_config_set_clock(this, clock, &error), error);
    }

    /// <summary>The level, the message, and a JSON object of its values. The core calls it on
    /// threads that are inside one of its calls, and drops it when nobody uses it any more.</summary>
    public void SetLog(Action<int, string, byte[]> sink)
    {
        nint user = GCHandle.ToIntPtr(GCHandle.Alloc(sink));
        delegate* unmanaged[Cdecl]<nint, int, byte*, byte*, void> log = &OnLog;
        delegate* unmanaged[Cdecl]<nint, void> destroy = &OnDestroy;
        nint error = 0;
        Failure.Check(
            Native.wp_config_set_log(this, (nint)log, user, (nint)destroy, &error), error);
    }

    public static string Describe()
    {
        nint error = 0;
        byte* text = null;
        Failure.Check(Native.wp_config_describe(&text, &error), error);
        return Take(text);
    }

    private static string Take(byte* text)
    {
        string result = Utf8.Text(text);
        Native.wp_text_free(text);
        return result;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void OnLog(nint user, int level, byte* message, byte* fields)
    {
        try
        {
            var sink = (Action<int, string, byte[]>)GCHandle.FromIntPtr(user).Target!;
            ReadOnlySpan<byte> json = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(fields);
            sink(level, Utf8.Text(message), json.ToArray());
        }
        catch (Exception)
        {
            // A logger that throws must not unwind through C.
        }
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    internal static void OnDestroy(nint user) => GCHandle.FromIntPtr(user).Free();
}

internal sealed unsafe class ClockHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_clock_free(pointer);

    public static ClockHandle New(long utcUs)
    {
        nint error = 0;
        Failure.Check(Native.wp_clock_new_manual(out ClockHandle handle, utcUs, &error), error);
        return handle;
    }

    public long UtcUs => Native.wp_clock_utc_us(this);

    public void AdvanceUs(long us)
    {
        nint error = 0;
        Failure.Check(Native.wp_clock_advance_us(this, us, &error), error);
    }

    public void JumpUs(long us)
    {
        nint error = 0;
        Failure.Check(Native.wp_clock_jump_us(this, us, &error), error);
    }
}
