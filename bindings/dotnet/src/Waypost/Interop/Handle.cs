// SPDX-License-Identifier: Apache-2.0
using System.Runtime.InteropServices;

namespace Waypost.Interop;

/// <summary>
/// What the core gives out, with its destructor. A call holds it while it runs, so that a close on
/// another thread waits for it; after it was closed, calls throw ObjectDisposedException. With its
/// subclasses and Failure this is the only layer that touches pointers.
/// </summary>
internal abstract class Handle : SafeHandle
{
    protected Handle() : base(0, ownsHandle: true) { }

    public override bool IsInvalid => handle == 0;

    protected sealed override bool ReleaseHandle()
    {
        Free(handle);
        return true;
    }

    protected abstract void Free(nint pointer);

    /// <summary>For keys and arrays of pointers; the caller keeps the handle alive.</summary>
    public nint Pointer => handle;
}
