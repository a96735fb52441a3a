#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) and cppcheck over the library, examples and benchmarks; both must be
# silent. Also: no source or test is missing in the lists of CMake. With --quick the analyzer follows
# fewer paths, which takes a third of the time: what all tests call.
set -euo pipefail
. tools/common.sh

configure release -DWAYPOST_BUILD_BENCH=ON
build release generated/sql_ids.h >/dev/null
mapfile -t sources < <(files '*.c' | grep -v '^tests/')

analyzer=()
[ "${1:-}" != --quick ] || analyzer=(--extra-arg={-Xclang,-analyzer-config,-Xclang,mode=shallow})

status=0
unlisted() { # unlisted LIST FOLDER NAME-PATTERN: the files below FOLDER that LIST does not name
    find "$2" -name "$3" | sort | while IFS= read -r file; do
        grep -qF "${file#tests/}" "$1" || echo "$file: not listed in $1"
    done
}
missing=$(unlisted CMakeLists.txt core/src '*.c'; unlisted tests/CMakeLists.txt tests 'test_*.c')
if [ -n "$missing" ]; then
    echo "$missing"
    status=1
fi

# One file a process: the analyzer's va_list checker confuses several. Its counts of suppressed
# warnings go to the error stream, like its real errors.
printf '%s\n' "${sources[@]}" |
    xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/release "${analyzer[@]}" 2>build/clang-tidy.err || status=1
grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated|^Suppressed|^Use -' \
    build/clang-tidy.err >&2 || true

mkdir -p build/cppcheck
cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j "$jobs" \
    --enable=warning,performance,portability --library=posix \
    --suppress=missingIncludeSystem --cppcheck-build-dir=build/cppcheck \
    -DWP_API= -D__GNUC__ -D__linux__ -I core/include -I core/src -I build/release/generated \
    "${sources[@]}" || status=1

[ $status -eq 0 ] && echo "lint: ${#sources[@]} files are clean"
exit $status
