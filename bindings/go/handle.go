// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"sync"
	"unsafe"

	"waypost/internal/live"
)

// handle owns an object of C. It is freed when it was closed and the last call that uses it is
// over; calls after the close are refused.
type handle struct {
	mu     sync.Mutex
	ptr    unsafe.Pointer
	users  int
	closed bool
	what   string
	free   func(unsafe.Pointer)
}

func (h *handle) own(ptr unsafe.Pointer, what string, free func(unsafe.Pointer)) {
	h.ptr, h.what, h.free = ptr, what, free
	live.Handles.Add(1)
}

// use gives the pointer, which stays valid until unuse.
func (h *handle) use() (unsafe.Pointer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.ptr == nil {
		return nil, failure(ErrState, "the %s is closed", h.what)
	}
	h.users++
	return h.ptr, nil
}

func (h *handle) unuse() {
	h.mu.Lock()
	h.users--
	free := h.take()
	h.mu.Unlock()
	h.drop(free)
}

// close may be called again.
func (h *handle) close() {
	h.mu.Lock()
	h.closed = true
	free := h.take()
	h.mu.Unlock()
	h.drop(free)
}

// take takes the pointer away if it is to be freed now; h.mu is held.
func (h *handle) take() unsafe.Pointer {
	if !h.closed || h.users > 0 {
		return nil
	}
	ptr := h.ptr
	h.ptr = nil
	return ptr
}

func (h *handle) drop(ptr unsafe.Pointer) {
	if ptr != nil {
		h.free(ptr)
		live.Handles.Add(-1)
	}
}

// give gives the pointer away, if nobody else uses it: the caller frees what it stands for.
func (h *handle) give() unsafe.Pointer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.users > 0 {
		return nil
	}
	h.closed = true
	return h.take()
}
