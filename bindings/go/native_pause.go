// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

import "time"

func (q Queue) pause(resumes bool, topic, by string) (yes bool, e error) {
	e = withNameBy("topic", topic, by, func(topic, by *C.char) (e error) {
		yes, e = q.store.told(func(yes *C.int, store *C.wp_store, err **C.wp_error) C.wp_status {
			if resumes {
				return C.wp_topic_resume(yes, store, nil, q.kind.c(), topic, by, err)
			}
			return C.wp_topic_pause(yes, store, nil, q.kind.c(), topic, by, err)
		})
		return e
	})
	return yes, e
}

func (q Queue) pauseOp(resumes bool, topic, by string) (op *operation, e error) {
	e = withNameBy("topic", topic, by, func(topic, by *C.char) (e error) {
		op, e = q.store.operation(func(out **C.wp_op, store *C.wp_store, err **C.wp_error) C.wp_status {
			if resumes {
				return C.wp_topic_resume_op(out, store, q.kind.c(), topic, by, err)
			}
			return C.wp_topic_pause_op(out, store, q.kind.c(), topic, by, err)
		})
		return e
	})
	return op, e
}

func (q Queue) paused() ([]PausedTopic, error) {
	var list *C.wp_pauses
	e := q.store.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_pauses_read(&list, store, err)
	})
	if e != nil {
		return nil, e
	}
	defer C.wp_pauses_free(list)
	topics := []PausedTopic{}
	for i := C.size_t(0); i < C.wp_pauses_count(list); i++ {
		if C.wp_pauses_source(list, i) == q.kind.c() {
			topics = append(topics, PausedTopic{
				C.GoString(C.wp_pauses_topic(list, i)),
				time.UnixMicro(int64(C.wp_pauses_since_us(list, i))).UTC(),
				C.GoString(C.wp_pauses_by(list, i)),
			})
		}
	}
	return topics, nil
}
