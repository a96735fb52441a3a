// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class RouterHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_router_free(pointer);

    public static RouterHandle New()
    {
        nint error = 0;
        Failure.Check(Native.wp_router_new(out RouterHandle handle, &error), error);
        return handle;
    }

    public void Set(IReadOnlyList<ConfigHandle> stores)
    {
        nint error = 0;
        var pointers = new nint[stores.Count + 1]; // none is not NULL
        for (int i = 0; i < stores.Count; i++)
            pointers[i] = stores[i].Pointer;
        fixed (nint* list = pointers)
            Failure.Check(
                Native.wp_router_set(this, list, (nuint)stores.Count, &error), error);
        GC.KeepAlive(stores);
    }

    public StoreHandle Get(string key)
    {
        nint error = 0;
        fixed (byte* k = Utf8.Name(nameof(key), key))
        {
            Failure.Check(Native.wp_router_get(out StoreHandle handle, this, k, &error), error);
            return handle;
        }
    }

    public string[] Ids()
    {
        nint error = 0;
        Failure.Check(Native.wp_router_list(out RouterIdsHandle handle, this, &error), error);
        using (handle)
        {
            var ids = new string[(int)Native.wp_router_ids_count(handle)];
            for (int i = 0; i < ids.Length; i++)
                ids[i] = Utf8.Text(Native.wp_router_ids_at(handle, (nuint)i));
            return ids;
        }
    }

    public int Count => (int)Native.wp_router_count(this);
}

internal sealed class RouterIdsHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_router_ids_free(pointer);
}
