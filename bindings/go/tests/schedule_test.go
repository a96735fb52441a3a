// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waypost"
)

func utc(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func newSchedule(t *testing.T, expression, zone string) *waypost.Schedule {
	t.Helper()
	schedule, err := waypost.NewSchedule(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(schedule.Close)
	return schedule
}

func comes(t *testing.T, expression, zone, after string, want ...string) {
	t.Helper()
	schedule := newSchedule(t, expression, zone)
	all, err := schedule.Preview(len(want), utc(t, after))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(all))
	for i, at := range all {
		got[i] = at.UTC().Format("2006-01-02T15:04:05")
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s in %s: %v, not %v", expression, zone, got, want)
	}
	if next, err := schedule.Next(utc(t, after)); err != nil || !next.Equal(all[0]) {
		t.Fatal(next, err)
	}
}

// scenario: SCH-001
// proves: JOB-020, CRN-001, CRN-005
func TestNextOccurrencesInAZone(t *testing.T) {
	comes(t, "30 9 * * MON-FRI", "Europe/Vienna", "2027-03-26T12:00:00",
		"2027-03-29T07:30:00", "2027-03-30T07:30:00", "2027-03-31T07:30:00")
	schedule := newSchedule(t, "@daily", "")
	if schedule.Expression() != "@daily" || schedule.Zone() != "UTC" {
		t.Fatal(schedule.Expression(), schedule.Zone())
	}
	local := time.Date(2027, 3, 26, 13, 0, 0, 0, time.FixedZone("", 3600))
	if next, err := schedule.Next(local); err != nil || !next.Equal(utc(t, "2027-03-27T00:00:00")) {
		t.Fatal(next, err)
	}
	if none, err := schedule.Preview(0, local); err != nil || len(none) != 0 {
		t.Fatal(none, err)
	}
}

// scenario: SCH-002
// proves: CRN-006
func TestFixedTimeThatIsSkippedOrComesTwiceFiresOnce(t *testing.T) {
	comes(t, "30 2 * * *", "Europe/Vienna", "2027-03-27T12:00:00",
		"2027-03-28T01:00:00", "2027-03-29T00:30:00")
	comes(t, "30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
		"2027-10-31T00:30:00", "2027-11-01T01:30:00")
}

// scenario: SCH-003
// proves: CRN-006
func TestIntervalsFireAtEachRealInstant(t *testing.T) {
	comes(t, "*/30 * * * *", "Europe/Vienna", "2027-10-30T23:45:00", "2027-10-31T00:00:00",
		"2027-10-31T00:30:00", "2027-10-31T01:00:00", "2027-10-31T01:30:00")
	comes(t, "0 * * * *", "Europe/Vienna", "2027-03-27T23:30:00",
		"2027-03-28T00:00:00", "2027-03-28T01:00:00", "2027-03-28T02:00:00")
	comes(t, "@every 90m", "Europe/Vienna", "2027-10-30T22:45:00",
		"2027-10-31T00:00:00", "2027-10-31T01:30:00", "2027-10-31T03:00:00")
}

func refused(t *testing.T, kind error, text, expression, zone string, options ...waypost.Option) {
	t.Helper()
	_, err := waypost.NewSchedule(expression, zone, options...)
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Fatalf("%q in %q: %v", expression, zone, err)
	}
}

// scenario: SCH-004
// proves: CRN-003, CRN-004
func TestMalformedOrNeverIsAnArgumentError(t *testing.T) {
	refused(t, waypost.ErrArgument, "hour, position 3", "* 24 * * *", "")
	refused(t, waypost.ErrArgument, "never fires", "0 0 30 2 *", "")
	refused(t, waypost.ErrArgument, "expression", "", "")
	refused(t, waypost.ErrArgument, "expression", "@daily\x00", "")
	refused(t, waypost.ErrArgument, "expression", "\xff", "")
}

// scenario: SCH-005
// proves: CRN-005
func TestUnknownZonesAreToldApart(t *testing.T) {
	nowhere := waypost.WithOption("schedule.zone_directory", "/nowhere")
	refused(t, waypost.ErrNotFound, "Mars/Phobos", "@daily", "Mars/Phobos")
	refused(t, waypost.ErrArgument, "zone", "@daily", "../etc/passwd")
	refused(t, waypost.ErrConfig, "zone_directory", "@daily", "Europe/Vienna", nowhere)
	schedule, err := waypost.NewSchedule("@daily", "UTC", nowhere)
	if err != nil {
		t.Fatal(err)
	}
	schedule.Close()
	if _, err := schedule.Next(time.Unix(0, 0)); !errors.Is(err, waypost.ErrState) {
		t.Fatal(err)
	}
}

// scenario: SCH-006
func TestEndsOfTime(t *testing.T) {
	schedule := newSchedule(t, "0 0 1 1 *", "")
	if _, err := schedule.Next(utc(t, "1969-12-31T23:59:59")); !errors.Is(err, waypost.ErrRange) {
		t.Fatal(err)
	}
	if _, err := schedule.Next(utc(t, "9999-12-31T23:59:59")); !errors.Is(err, waypost.ErrNotFound) {
		t.Fatal(err)
	}
	if all, err := schedule.Preview(5, utc(t, "9997-06-01T00:00:00")); err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, count := range []int{-1, 10001} {
		if _, err := schedule.Preview(count, time.Now()); !errors.Is(err, waypost.ErrRange) {
			t.Fatal(err)
		}
	}
}
