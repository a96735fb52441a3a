// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"

	_ "github.com/go-sql-driver/mysql"

	"waypost"
)

// mariadb has databases of the server that tools/with_servers.sh has started. To make the tables of one takes
// long: a test that leaves them as they are hands them on, emptied.
var mariadb struct {
	sync.Mutex
	idle []mariadbDatabase
}

type mariadbDatabase struct {
	name        string
	fingerprint int64
}

const (
	mariadbTables = "SELECT table_name FROM information_schema.tables" +
		" WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
	mariadbFingerprint = "SELECT CAST((SELECT COALESCE(SUM(CRC32(CONCAT(table_name, '.', column_name, column_type))), 0)" +
		" FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'orders')" +
		" + (SELECT COUNT(*) FROM mysql.proc WHERE db = DATABASE())" +
		" + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()) AS SIGNED)"
)

// mariadbSource is what the app's driver connects with; without a name, to no database.
func mariadbSource(name string) string {
	given := map[string]string{}
	for _, part := range strings.Split(strings.TrimPrefix(os.Getenv("WAYPOST_TEST_MARIADB"), "odbc:"), ";") {
		key, value, _ := strings.Cut(part, "=")
		given[key] = value
	}
	return fmt.Sprintf("%s@tcp(%s:%s)/%s?charset=utf8mb4", given["Uid"], given["Server"], given["Port"], name)
}

// newMariadb is an empty database, and its URL. Its schema is deployed already, or will be.
func newMariadb() (database mariadbDatabase, url string) {
	mariadb.Lock()
	defer mariadb.Unlock()
	if count := len(mariadb.idle); count > 0 {
		database = mariadb.idle[count-1]
		mariadb.idle = mariadb.idle[:count-1]
	} else {
		database.name = "go_" + strings.ReplaceAll(waypost.NewID().String(), "-", "")
		server := must(sql.Open("mysql", mariadbSource("")))
		defer server.Close()
		must(server.Exec("CREATE DATABASE " + database.name + " CHARACTER SET utf8mb4"))
	}
	return database, os.Getenv("WAYPOST_TEST_MARIADB") + ";Database=" + database.name
}

// keep hands a database on if its tables are as they were, else it is dropped.
func (d mariadbDatabase) keep() {
	db := must(sql.Open("mysql", mariadbSource(d.name)))
	defer db.Close()
	var fingerprint int64
	err := db.QueryRow(mariadbFingerprint).Scan(&fingerprint)
	if err != nil || (d.fingerprint != 0 && d.fingerprint != fingerprint) {
		must(db.Exec("DROP DATABASE " + d.name))
		return
	}
	d.fingerprint = fingerprint
	rows := must(db.Query(mariadbTables))
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			panic(err)
		}
		names = append(names, name)
	}
	rows.Close()
	one := must(db.Conn(context.Background()))
	defer one.Close()
	for _, name := range names {
		if !strings.HasSuffix(name, "migration") {
			must(one.ExecContext(context.Background(), "DELETE FROM `"+name+"`"))
		}
	}
	mariadb.Lock()
	defer mariadb.Unlock()
	mariadb.idle = append(mariadb.idle, d)
}
