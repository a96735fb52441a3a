// SPDX-License-Identifier: Apache-2.0
//go:build mssql

// Debian's go-mssqldb is no module, so tools/go.sh builds this with the tag mssql and a GOPATH.

package tests

import _ "github.com/denisenkom/go-mssqldb"
