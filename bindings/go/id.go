// SPDX-License-Identifier: Apache-2.0

package waypost

import "encoding/hex"

// ID is a 128-bit id, as in RFC 9562. Those that Waypost makes are of version 7: they sort by time.
type ID [16]byte

// String gives the form of 36 lower-case characters.
func (id ID) String() string {
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// IsZero tells whether all bits are zero.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText gives what String gives.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what ParseID reads.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}
