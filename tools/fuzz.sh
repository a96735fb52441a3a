#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Let libFuzzer feed each target of tests/fuzz for a while: [SECONDS] [TARGET...], by default 60 s each. What it
# finds on the way is kept in build/fuzz/corpus; an input that breaks something is in build/fuzz/broken: mend what it
# shows, and add it to tests/fuzz/corpus, which the tests replay.
set -euo pipefail
. tools/common.sh

seconds=60
case ${1:-} in
[0-9]*)
    seconds=$1
    shift
    ;;
esac
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(config cron rule zone)

configure fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" -DWAYPOST_WERROR=OFF \
    -DWAYPOST_SANITIZE=fuzzer -DWAYPOST_BUILD_EXAMPLES=OFF -DWAYPOST_BUILD_CLI=OFF
out=$(build fuzz "${targets[@]/#/fuzz_}") || { echo "$out"; exit 1; }
mkdir -p build/fuzz/broken
status=0
for target in "${targets[@]}"; do
    mkdir -p "build/fuzz/corpus/$target"
    log=build/fuzz/$target.log
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1
        -artifact_prefix="build/fuzz/broken/$target-")
    if "build/fuzz/tests/fuzz_$target" "${options[@]}" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
        >"$log" 2>&1; then
        echo "fuzz: $target held for $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    else
        status=1
        tail -n 40 "$log"
        echo "fuzz: $target BROKE: build/fuzz/broken, $log"
    fi
done
exit $status
