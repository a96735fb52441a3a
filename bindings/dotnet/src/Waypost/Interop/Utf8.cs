// SPDX-License-Identifier: Apache-2.0
using System.Runtime.InteropServices;
using System.Text;

namespace Waypost.Interop;

/// <summary>Texts as the core wants them and gives them.</summary>
internal static unsafe class Utf8
{
    private static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    /// <summary>A payload as UTF-8. What has no UTF-8 form is refused, not replaced.</summary>
    public static byte[] Encode(string name, string value)
    {
        ArgumentNullException.ThrowIfNull(value, name);
        try
        {
            return Strict.GetBytes(value);
        }
        catch (EncoderFallbackException e)
        {
            throw new ArgumentException(
                $"{name} holds a lone surrogate at {e.Index}: it has no UTF-8 form", name);
        }
    }

    /// <summary>A name as a C text: UTF-8 that ends with a NUL and holds no other.</summary>
    public static byte[] Name(string name, string value)
    {
        ArgumentNullException.ThrowIfNull(value, name);
        int nul = value.IndexOf('\0');
        if (nul >= 0)
            throw new ArgumentException($"{name} holds a NUL character at {nul}", name);
        try
        {
            byte[] text = new byte[Strict.GetByteCount(value) + 1];
            Strict.GetBytes(value, text);
            return text;
        }
        catch (EncoderFallbackException e)
        {
            throw new ArgumentException(
                $"{name} holds a lone surrogate at {e.Index}: it has no UTF-8 form", name);
        }
    }

    public static byte[]? OptionalName(string name, string? value) =>
        value is null ? null : Name(name, value);

    /// <summary>A reason, which may hold anything: made fit instead of refused.</summary>
    public static byte[]? Reason(string? value) =>
        value is null ? null : Encoding.UTF8.GetBytes(value.Replace("\0", "\\0") + '\0');

    /// <summary>What a text without NUL of up to so many bytes can hold of a text, in whole
    /// characters.</summary>
    public static byte[] Fitting(string value, int most)
    {
        string text = value.Replace("\0", "");
        byte[] bytes = Encoding.UTF8.GetBytes(text.Length > most ? text[..most] : text);
        if (bytes.Length <= most)
            return bytes;
        int end = most;
        while ((bytes[end] & 0xC0) == 0x80)
            end--;
        return bytes[..end];
    }

    public static string Text(byte* text) => Marshal.PtrToStringUTF8((nint)text) ?? "";

    public static string? OptionalText(byte* text) => Marshal.PtrToStringUTF8((nint)text);

    public static byte[] Bytes(byte* data, nuint length) =>
        new ReadOnlySpan<byte>(data, checked((int)length)).ToArray();
}
