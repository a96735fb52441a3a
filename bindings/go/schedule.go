// SPDX-License-Identifier: Apache-2.0

package waypost

import "time"

// Schedule is a cron expression in a time zone: when it fires, without a database and without a
// clock. docs/cron.md has the syntax and the rules. It never changes, and any goroutines may use it; it
// keeps the zone's rules as they were when it was made.
type Schedule struct {
	h                handle
	expression, zone string
}

// NewSchedule reads an expression: five fields, six with the second before them, or a macro. The zone
// is an IANA zone, such as "Europe/Vienna"; "" is "UTC". Of the options, "schedule.zone_directory" says
// where the zone files are.
//
// ErrArgument: the expression is malformed (the message names the field and the position) or never
// fires, or the zone's name is malformed; ErrNotFound: there is no such zone; ErrConfig: the zone files
// are missing, or this one is corrupt.
func NewSchedule(expression, zone string, options ...Option) (*Schedule, error) {
	config, err := newConfig()
	if err != nil {
		return nil, err
	}
	defer config.close()
	set := &settings{place: forStore, config: config, stopTimeout: defaultStopTimeout}
	if err := set.apply(options); err != nil {
		return nil, err
	}
	if zone == "" {
		zone = "UTC"
	}
	return newSchedule(expression, zone, config)
}

// Expression is the expression, as it was given.
func (s *Schedule) Expression() string { return s.expression }

// Zone is the zone's name.
func (s *Schedule) Zone() string { return s.zone }

// Next is the first occurrence after an instant, in UTC; always later than it. ErrNotFound: there is
// none by the end of the year 9999; ErrRange: the instant is before 1970 or after 9999.
func (s *Schedule) Next(after time.Time) (time.Time, error) {
	us, err := s.nextUS(toUS(after))
	if err != nil {
		return time.Time{}, err
	}
	return fromUS(us), nil
}

// Preview gives the next occurrences after an instant, in UTC and in order: up to count, 10,000 at
// most; fewer where the year 9999 ends.
func (s *Schedule) Preview(count int, after time.Time) ([]time.Time, error) {
	all, err := s.previewUS(toUS(after), count)
	if err != nil {
		return nil, err
	}
	times := make([]time.Time, len(all))
	for i, us := range all {
		times[i] = fromUS(us)
	}
	return times, nil
}

// Close frees it.
func (s *Schedule) Close() { s.h.close() }
