// SPDX-License-Identifier: Apache-2.0
using System.Runtime.InteropServices;

namespace Waypost.Interop;

/// <summary>The core's wp_id: 16 bytes, big-endian.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct WpId
{
    private fixed byte _bytes[16];

    public static implicit operator WpId(Guid value)
    {
        WpId id;
        value.TryWriteBytes(new Span<byte>(id._bytes, 16), bigEndian: true, out _);
        return id;
    }

    public static implicit operator Guid(WpId id) =>
        new(new ReadOnlySpan<byte>(id._bytes, 16), bigEndian: true);
}

/// <summary>wpn_message of helpers.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct NativeMessage
{
    public WpId Id;
    public byte* Topic;
    public byte* Payload;
    public nuint PayloadLength;
    public byte* CorrelationId;
    public byte* OrderingKey;
    public byte* Headers;
    public byte* LastError;
    public long Attempt;
    public long ClaimNumber;
    public long CreatedUs;
    public long DueUs;
    public long ExpiresUs;
    public long Queue;
    public byte* Job;
    public byte* Source;
    public byte* MessageId;
    public byte* Consumer;
    public byte* Hash;
    public nuint HashLength;
    public byte* HashAlgorithm;
    public long LastSeenUs;
}

/// <summary>wpn_info of helpers.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct NativeInfo
{
    public NativeMessage Message;
    public long Status;
    public long Source;
    public long NextAttemptUs;
    public long LockedUntilUs;
    public long FinishedUs;
    public byte* FinishedBy;

    public readonly OutboxMessageInfo Read() => new(
        (OutboxMessageStatus)Status,
        OutboxMessage.Of(in Message),
        Times.FromOptionalUs(NextAttemptUs),
        Times.FromOptionalUs(LockedUntilUs),
        Times.FromOptionalUs(FinishedUs),
        Utf8.OptionalText(FinishedBy),
        Utf8.OptionalText(Message.LastError))
    {
        Queue = (WaypostQueue)Source,
    };
}

/// <summary>wpn_param of helpers.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct NativeParameter
{
    public long Type;
    public long Integer;
    public byte* Name;
    public byte* Data;
    public nuint Length;
}
