// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import "unsafe"

func newSchedule(expression, zone string, config *nativeConfig) (*Schedule, error) {
	for _, text := range [][2]string{{"expression", expression}, {"zone", zone}} {
		if err := checkText(text[0], text[1]); err != nil {
			return nil, err
		}
	}
	ptr, e := config.use()
	if e != nil {
		return nil, e
	}
	defer config.unuse()
	var (
		out *C.wp_schedule
		err *C.wp_error
	)
	x, z := newText(expression), newText(zone)
	defer x.free()
	defer z.free()
	if status := C.wp_schedule_new(&out, x.ptr, z.ptr, (*C.wp_config)(ptr), &err); status != C.WP_OK {
		return nil, failed(status, err)
	}
	s := &Schedule{expression: expression, zone: zone}
	s.h.own(unsafe.Pointer(out), "schedule", func(p unsafe.Pointer) {
		C.wp_schedule_free((*C.wp_schedule)(p))
	})
	return s, nil
}

func (s *Schedule) nextUS(after int64) (int64, error) {
	ptr, e := s.h.use()
	if e != nil {
		return 0, e
	}
	defer s.h.unuse()
	var (
		us  C.int64_t
		err *C.wp_error
	)
	status := C.wp_schedule_next(&us, (*C.wp_schedule)(ptr), C.int64_t(after), &err)
	return int64(us), failed(status, err)
}

func (s *Schedule) previewUS(after int64, count int) ([]int64, error) {
	if count < 0 || count > C.WP_PREVIEW_MAX {
		return nil, failure(ErrRange, "count is not from 0 to %d", C.WP_PREVIEW_MAX)
	}
	ptr, e := s.h.use()
	if e != nil {
		return nil, e
	}
	defer s.h.unuse()
	var (
		found C.size_t
		err   *C.wp_error
	)
	us := make([]int64, count+1)
	status := C.wp_schedule_preview((*C.int64_t)(unsafe.Pointer(&us[0])), &found, (*C.wp_schedule)(ptr),
		C.int64_t(after), C.size_t(count), &err)
	return us[:found], failed(status, err)
}
