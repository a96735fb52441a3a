#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that must pass. Each step's whole output is shown and kept in build/logs/; the lines
# with which the runners closed are repeated at the end, and the tests that failed are named there.
set -uo pipefail
. tools/common.sh

[ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || exec tools/with_servers.sh "$0" "$@"

logs=build/logs
rm -rf "$logs"
mkdir -p "$logs"
started=$SECONDS

# What names a test that failed, and why: pytest, ctest, dotnet test, go test; cmocka's own lines.
named='^(FAILED|ERROR) |^[[:space:]]+[0-9]+ - .* \((Failed|Timeout|Exception|SEGFAULT|ILLEGAL|Not Run|Subprocess)|\[FAIL\]|^[[:space:]]*--- FAIL|^\[  (ERROR|FAILED)  |^\[   LINE   \] ---|^[^ ]+\(.*: the status is: |: process [0-9]+: not '

# step NAME PATTERN COMMAND...: run a step; PATTERN matches its closing lines
step() {
    local name=$1 pattern=$2 log=$logs/$1.log end=$logs/$1.end begin=$SECONDS line
    shift 2
    printf '\n==== %s\n' "$name"
    if ! "$@" 2>&1 | tee "$log"; then
        touch "$logs/failed"
        printf '%-9s FAILED (%d s), see %s\n' "$name" $((SECONDS - begin)) "$log" >>"$end"
        while IFS= read -r line; do
            printf '%-9s   %.300s\n' "$name" "$line" >>"$end"
        done < <(grep -aE "$named" "$log" | head -n 30)
    fi
    while IFS= read -r line; do
        printf '%-9s %s (%d s)\n' "$name" "$line" $((SECONDS - begin)) >>"$end"
    done < <(grep -aE "$pattern" "$log")
}

# Steps beside others; what they print is shown when all of them are done.
beside=()
aside() { # aside NAME COMMAND: COMMAND is a function of steps
    "$2" >"$logs/aside-$1.log" 2>&1 &
    beside+=("$!:$1")
}
join_aside() {
    local lane
    for lane in "${beside[@]}"; do
        wait "${lane%%:*}"
        cat "$logs/aside-${lane#*:}.log"
    done
    beside=()
}

# The TSan runtime needs an address layout that kernels with much randomisation do not give it.
fixed_layout() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}
# With assertions, and optimised a little so that it is not too slow.
checked=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g")

# Tests wait for servers and clocks half of their time.
at_once=$((jobs + 2))

release() {
    configure release -DWAYPOST_BUILD_BENCH=ON && build release &&
        ctest --test-dir build/release -j "$at_once" --output-on-failure --no-tests=error
}
asan() {
    configure asan "${checked[@]}" -DWAYPOST_SANITIZE=address && build asan &&
        ctest --test-dir build/asan -j "$at_once" --output-on-failure --no-tests=error -LE package
}
tsan() {
    configure tsan "${checked[@]}" -DWAYPOST_SANITIZE=thread && build tsan &&
        fixed_layout ctest --test-dir build/tsan -j "$at_once" --output-on-failure \
            --no-tests=error -L threads
}

# What does not keep two cores busy by itself.
python_lane() {
    step python '^(Success:|Found .* error)|^=+ .*(passed|failed|error).* in ' tools/python.sh
}
dotnet_lane() {
    step dotnet '^dotnet:|^(Passed|Failed)! ' tools/dotnet.sh
    step sqlserver '^sqlserver: ' tools/sqlserver.sh
}
go_lane() {
    step go '^go: ' tools/go.sh
}
lint_lane() {
    step lint '^lint:' tools/lint.sh --quick
}

step format '^format:' tools/fmt.sh --check
step release 'tests passed|tests failed' release
step asan 'tests passed|tests failed' asan
step tsan 'tests passed|tests failed' tsan
step schedule '^(zones|cronos):' tools/schedule.sh
step valgrind '^valgrind:' tools/valgrind.sh
tools/documents.sh build/demo || true # for both; they say what is missing
aside python python_lane
aside dotnet dotnet_lane
aside go go_lane
aside lint lint_lane
join_aside
step cross '^cross: [0-9]+ passed' tools/cross.sh
step trace '^trace:' "$python" tools/trace.py
step matrix '^matrix:' "$python" tools/matrix.py
step migrations '^migrations:' "$python" tools/migrations.py

printf '\n==== closing lines, %d s in all\n' $((SECONDS - started))
for name in format lint release asan tsan schedule valgrind python dotnet go sqlserver cross trace matrix migrations; do
    if [ -s "$logs/$name.end" ]; then
        cat "$logs/$name.end"
    else
        touch "$logs/failed"
        printf '%-9s FAILED: it said nothing\n' "$name"
    fi
done
[ ! -e "$logs/failed" ]
