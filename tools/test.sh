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
closing=()
failed=0
started=$SECONDS

# What names a test that failed: pytest, ctest, dotnet test, go test.
named='^(FAILED|ERROR) |^[[:space:]]+[0-9]+ - .* \((Failed|Timeout|Exception|SEGFAULT|ILLEGAL|Not Run|Subprocess)|\[FAIL\]|^[[:space:]]*--- FAIL'

# step NAME PATTERN COMMAND...: run a step; PATTERN matches its closing lines
step() {
    local name=$1 pattern=$2 log=$logs/$1.log begin=$SECONDS status=0 line
    shift 2
    printf '\n==== %s\n' "$name"
    "$@" 2>&1 | tee "$log" || status=1
    if [ $status -ne 0 ]; then
        failed=1
        closing+=("$(printf '%-9s FAILED (%d s), see %s' "$name" $((SECONDS - begin)) "$log")")
        while IFS= read -r line; do
            closing+=("$(printf '%-9s   %.300s' "$name" "$line")")
        done < <(grep -aE "$named" "$log" | head -n 20)
    fi
    while IFS= read -r line; do
        closing+=("$(printf '%-9s %s (%d s)' "$name" "$line" $((SECONDS - begin)))")
    done < <(grep -aE "$pattern" "$log")
}

# The TSan runtime needs an address layout that kernels with much randomisation do not give it.
fixed_layout() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}
# With assertions, and optimised a little so that it is not too slow.
checked=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g")

release() {
    configure release -DWAYPOST_BUILD_BENCH=ON && build release &&
        ctest --test-dir build/release -j "$jobs" --output-on-failure --no-tests=error
}
asan() {
    configure asan "${checked[@]}" -DWAYPOST_SANITIZE=address && build asan &&
        ctest --test-dir build/asan -j "$jobs" --output-on-failure --no-tests=error -LE package
}
tsan() {
    configure tsan "${checked[@]}" -DWAYPOST_SANITIZE=thread && build tsan &&
        fixed_layout ctest --test-dir build/tsan -j "$jobs" --output-on-failure \
            --no-tests=error -L threads
}

step format '^format:' tools/fmt.sh --check
step lint '^lint:' tools/lint.sh
step release 'tests passed|tests failed' release
step asan 'tests passed|tests failed' asan
step tsan 'tests passed|tests failed' tsan
step schedule '^(zones|cronos):' tools/schedule.sh
step valgrind '^valgrind:' tools/valgrind.sh
step python '^(Success:|Found .* error)|^=+ .*(passed|failed|error).* in ' tools/python.sh
step dotnet '^dotnet:|^(Passed|Failed)! ' tools/dotnet.sh
step go '^go: ' tools/go.sh
step cross '^cross: [0-9]+ passed' tools/cross.sh
step trace '^trace:' "$python" tools/trace.py
step matrix '^matrix:' "$python" tools/matrix.py

printf '\n==== closing lines, %d s in all\n' $((SECONDS - started))
printf '%s\n' "${closing[@]}"
exit $failed
