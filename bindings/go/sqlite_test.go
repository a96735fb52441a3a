// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"errors"
	"runtime/debug"
	"testing"
)

func TestSecondSQLiteIsRefused(t *testing.T) {
	modules := []*debug.Module{{Path: "github.com/mattn/go-sqlite3"}}
	if err := checkModules(modules); err != nil {
		t.Fatal(err)
	}
	modules = append(modules, &debug.Module{Path: "modernc.org/sqlite"})
	if err := checkModules(modules); !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
}
