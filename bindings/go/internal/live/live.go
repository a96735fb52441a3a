// SPDX-License-Identifier: Apache-2.0

// Package live counts what is allocated in C, so that tests can tell that all of it was freed.
package live

import "sync/atomic"

// Handles is how many objects of C are owned, and how many Go values C refers to.
var Handles atomic.Int64
