// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

func openStore(config *nativeConfig) (*Store, error) {
	ptr, e := config.use()
	if e != nil {
		return nil, e
	}
	defer config.unuse()
	var (
		out *C.wp_store
		err *C.wp_error
	)
	if status := C.wp_store_open(&out, (*C.wp_config)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownStore(out), nil
}

// ownStore takes over a reference to an open store.
func ownStore(out *C.wp_store) *Store {
	store := &Store{
		id:       C.GoString(C.wp_store_id(out)),
		location: C.GoString(C.wp_store_location(out)),
		engine:   C.GoString(C.wp_store_engine(out)),
	}
	store.h.own(unsafe.Pointer(out), "store", func(ptr unsafe.Pointer) {
		C.wp_store_close((*C.wp_store)(ptr))
	})
	runtime.SetFinalizer(store, (*Store).collected)
	return store
}

// ---- routers --------------------------------------------------------------------------------

func (r *Router) open() error {
	var (
		out *C.wp_router
		err *C.wp_error
	)
	if status := C.wp_router_new(&out, &err); status != C.WP_OK {
		return failed(status, err)
	}
	r.h.own(unsafe.Pointer(out), "router", func(ptr unsafe.Pointer) {
		C.wp_router_free((*C.wp_router)(ptr))
	})
	return nil
}

func (r *Router) set(configs []*nativeConfig) error {
	ptr, e := r.h.use()
	if e != nil {
		return e
	}
	defer r.h.unuse()
	list := (**C.wp_config)(C.calloc(C.size_t(len(configs)+1), C.size_t(unsafe.Sizeof(ptr))))
	defer C.free(unsafe.Pointer(list))
	for i, config := range configs {
		one, e := config.use()
		if e != nil {
			return e
		}
		defer config.unuse()
		unsafe.Slice(list, len(configs))[i] = (*C.wp_config)(one)
	}
	var err *C.wp_error
	return failed(C.wp_router_set((*C.wp_router)(ptr), list, C.size_t(len(configs)), &err), err)
}

func (r *Router) get(key string) (*Store, error) {
	ptr, e := r.h.use()
	if e != nil {
		return nil, e
	}
	defer r.h.unuse()
	if e := checkText("key", key); e != nil {
		return nil, e
	}
	var (
		out *C.wp_store
		err *C.wp_error
	)
	name := newText(key)
	defer name.free()
	if status := C.wp_router_get(&out, (*C.wp_router)(ptr), name.ptr, &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	return ownStore(out), nil
}

// IDs are the ids of the stores that it has now, in the order in which they were given.
func (r *Router) IDs() ([]string, error) {
	ptr, e := r.h.use()
	if e != nil {
		return nil, e
	}
	defer r.h.unuse()
	var (
		list *C.wp_router_ids
		err  *C.wp_error
	)
	if status := C.wp_router_list(&list, (*C.wp_router)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	defer C.wp_router_ids_free(list)
	ids := make([]string, int(C.wp_router_ids_count(list)))
	for i := range ids {
		ids[i] = C.GoString(C.wp_router_ids_at(list, C.size_t(i)))
	}
	return ids, nil
}

// Len is how many stores the router has.
func (r *Router) Len() int {
	ptr, e := r.h.use()
	if e != nil {
		return 0
	}
	defer r.h.unuse()
	return int(C.wp_router_count((*C.wp_router)(ptr)))
}
