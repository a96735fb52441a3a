// SPDX-License-Identifier: Apache-2.0

package waypost

/*
#include "native.h"
*/
import "C"

func (o HealthOptions) scope() C.wp_health_scope {
	if o.Scheduler {
		return C.WP_HEALTH_OF_SCHEDULER
	}
	return C.WP_HEALTH_OF_ALL
}

func (s *Store) health(o HealthOptions, limitMS int64) (*Health, error) {
	var health *C.wp_health
	err := s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_health_read(&health, store, o.scope(), C.int64_t(o.maxAgeMS()), C.int64_t(limitMS), err)
	})
	return readHealth(health, err)
}

func (w *nativeWorker) health(o HealthOptions, limitMS int64) (*Health, error) {
	ptr, e := w.h.use()
	if e != nil {
		return nil, e
	}
	defer w.h.unuse()
	var (
		health *C.wp_health
		err    *C.wp_error
	)
	status := C.wp_health_read_worker(&health, (*C.wp_worker)(ptr), o.scope(), C.int64_t(o.maxAgeMS()),
		C.int64_t(limitMS), &err)
	return readHealth(health, failed(status, err))
}

// readHealth reads and frees it.
func readHealth(health *C.wp_health, err error) (*Health, error) {
	if err != nil {
		return nil, err
	}
	defer C.wp_health_free(health)
	return &Health{
		Status: HealthStatus(C.wp_health_get_status(health)),
		Reason: C.GoString(C.wp_health_reason(health)),
		Data:   []byte(C.GoString(C.wp_health_json(health))),
	}, nil
}

func (s *Store) metrics(limitMS int64) (text, samples string, err error) {
	var metrics *C.wp_metrics
	err = s.call(func(store *C.wp_store, err **C.wp_error) C.wp_status {
		return C.wp_metrics_read_store(&metrics, store, C.int64_t(limitMS), err)
	})
	return readMetrics(metrics, err)
}

func (w *nativeWorker) metrics(limitMS int64) (text, samples string, e error) {
	ptr, e := w.h.use()
	if e != nil {
		return "", "", e
	}
	defer w.h.unuse()
	var (
		metrics *C.wp_metrics
		err     *C.wp_error
	)
	status := C.wp_metrics_read(&metrics, (*C.wp_worker)(ptr), C.int64_t(limitMS), &err)
	return readMetrics(metrics, failed(status, err))
}

// readMetrics reads and frees them.
func readMetrics(metrics *C.wp_metrics, err error) (string, string, error) {
	if err != nil {
		return "", "", err
	}
	defer C.wp_metrics_free(metrics)
	return C.GoString(C.wp_metrics_text(metrics)), C.GoString(C.wp_metrics_json(metrics)), nil
}
