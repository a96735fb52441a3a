module waypost/tests

go 1.22

require (
	github.com/go-sql-driver/mysql v1.5.0
	github.com/lib/pq v1.10.7
	github.com/mattn/go-sqlite3 v1.14.16
	waypost v0.0.0
)
