// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe partial class StoreHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_store_close(pointer);

    public static StoreHandle Open(ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(Native.wp_store_open(out StoreHandle handle, config, &error), error);
        return handle;
    }

    public static void Deploy(ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(Native.wp_schema_deploy(config, &error), error);
    }

    public string Id => Utf8.Text(Native.wp_store_id(this));

    public string Location => Utf8.Text(Native.wp_store_location(this));

    public string Engine => Utf8.Text(Native.wp_store_engine(this));

    public EnqueueResult[] Enqueue(IEnumerable<NewOutboxMessage> messages)
    {
        using var handles = new MessageHandles(messages);
        int count = handles.Count;
        var ids = new WpId[count];
        var duplicates = new int[count];
        nint error = 0;
        fixed (nint* pointers = handles.Pointers)
        fixed (WpId* id = ids)
        fixed (int* duplicate = duplicates)
            Failure.Check(
                Native.wp_outbox_enqueue_many(id, duplicate, this, 0, pointers, (nuint)count,
                                              &error), error);
        return EnqueueResults(ids, duplicates);
    }

    private static EnqueueResult[] EnqueueResults(WpId[] ids, int[] duplicates) =>
        Enumerable.Zip(ids, duplicates, (id, d) => new EnqueueResult(id, d != 0)).ToArray();

    public OperationHandle EnqueueOperation(IEnumerable<NewOutboxMessage> messages)
    {
        using var handles = new MessageHandles(messages);
        nint error = 0;
        OperationHandle operation;
        fixed (nint* pointers = handles.Pointers)
            Failure.Check(
                Native.wp_outbox_enqueue_op(out operation, this, pointers,
                                            (nuint)handles.Count, &error), error);
        return operation;
    }
}
