// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import "unsafe"

func freeAudit(list unsafe.Pointer) { C.wp_audit_free((*C.wp_audit)(list)) }

func (s *Store) auditBefore(before int64, limit int) (*Page[AuditEntry], error) {
	var list *C.wp_audit
	e := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_audit_read(&list, store, C.int64_t(before), C.int64_t(limit), err)
	})
	if e != nil {
		return nil, e
	}
	items := make([]AuditEntry, int(C.wp_audit_count(list)))
	for i := range items {
		at := C.size_t(i)
		items[i] = AuditEntry{
			Number:  int64(C.wp_audit_number(list, at)),
			At:      fromUS(int64(C.wp_audit_at_us(list, at))),
			By:      C.GoString(C.wp_audit_actor(list, at)),
			Action:  C.GoString(C.wp_audit_action(list, at)),
			Kind:    Kind(C.wp_audit_source(list, at)),
			Subject: C.GoString(C.wp_audit_subject(list, at)),
			Detail:  C.GoString(C.wp_audit_detail(list, at)),
		}
	}
	return newPage(items, unsafe.Pointer(list), freeAudit,
		func(unsafe.Pointer) (*Page[AuditEntry], error) {
			return s.auditBefore(items[len(items)-1].Number, limit)
		}), nil
}
