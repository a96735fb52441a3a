#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Go binding: gofmt, go vet, and its tests with strict checks of pointers under a collector that
# never rests, with the race detector, on PostgreSQL, on MariaDB and, with WAYPOST_TEST_MSSQL, on SQL Server; then an empty module that uses it.
set -euo pipefail
. tools/common.sh

[ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || exec tools/with_servers.sh "$0" "$@"

root=$PWD
. tools/go_env.sh
log=$root/build/go.log
without=
: >"$log"
status=0

unformatted=$(gofmt -l bindings/go tests/cross/go examples/go bench/go)
[ -z "$unformatted" ] || { echo "gofmt: $unformatted"; status=1; }

run() { # run WHAT COMMAND...: keep its output, and show what failed
    local what=$1 begin=$SECONDS
    shift
    if "$@" >"$root/build/go-step.log" 2>&1; then
        echo "go, $what: passed ($((SECONDS - begin)) s)"
    else
        status=1
        cat "$root/build/go-step.log"
        echo "go, $what: FAILED ($((SECONDS - begin)) s)"
    fi
    cat "$root/build/go-step.log" >>"$log"
}
run_in() { (cd "$root/bindings/go/$1" && shift && "$@"); }
run "vet" run_in tests go vet ./... waypost/...
for module in tests/cross/go examples/go bench/go; do
    run "vet $module" bash -c "cd '$root/$module' && go vet ./..."
done
run "unit" run_in . go test -v -count=1 .
# Compiled first: the compiler must not run with such a collector.
strict=$root/build/go-strict.test
run "strict pointers, build" run_in tests env GOEXPERIMENT=cgocheck2 go test -c -o "$strict" .
run "sqlite, strict pointers" run_in tests env GOGC=1 "$strict" -test.v -test.timeout 900s
run "sqlite, race detector" run_in tests go test -race -v -count=1 -timeout 900s ./...
run "postgresql" run_in tests env WAYPOST_TEST_ENGINE=postgresql \
    go test -v -count=1 -timeout 900s ./...
run "mariadb" run_in tests env WAYPOST_TEST_ENGINE=mariadb go test -v -count=1 -timeout 900s ./...
mkdir -p build/gopath/src
ln -sfn "$root/bindings/go" build/gopath/src/waypost
in_gopath() { # in_gopath ENGINE TAG COMMAND...: see bindings/go/tests/pgx_test.go and mssql_test.go
    local engine=$1 tag=$2
    shift 2
    env -C "$root/build/gopath/src/waypost/tests" PWD="$root/build/gopath/src/waypost/tests" \
        WAYPOST_TEST_ENGINE="$engine" GO111MODULE=off GOPATH="$root/build/gopath:/usr/share/gocode" \
        GODEBUG=panicnil=0 GOFLAGS="-tags=libsqlite3,$tag" go "$@" . # as in a module of this Go
}
run "postgresql by pgx" in_gopath postgresql pgx test -v -count=1 -timeout 300s -run Pgx
run "sqlserver, vet" in_gopath sqlserver mssql vet
if [ -n "${WAYPOST_TEST_MSSQL:-}" ]; then
    run "sqlserver" in_gopath sqlserver mssql test -v -count=1 -timeout 3000s
else
    without=", SKIPPED: SQL Server (WAYPOST_TEST_MSSQL is not set: nothing here has run on one)"
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/go.mod" <<END
module empty

go 1.22

require waypost v0.0.0

replace waypost => $root/bindings/go
END
cp bindings/go/example/main.go "$tmp/main.go"
mkdir "$tmp/bounded"
run "example bounded" bash -c "cd examples/go && go build -o '$tmp/bounded/' ./bounded && cd '$tmp/bounded' && ./bounded"
run "empty module" bash -c "cd '$tmp' && go run ."

passed=$(grep -c '^--- PASS' "$log" || true)
failed=$(grep -c '^--- FAIL' "$log" || true)
[ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "go: $passed passed, $failed failed$without"
exit $status
