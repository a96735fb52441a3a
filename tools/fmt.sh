#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format the C code, or with --check say what is not formatted.
set -euo pipefail
. tools/common.sh

mapfile -t sources < <(files '*.[ch]')
if [ "${1:-}" = --check ]; then
    clang-format --dry-run -Werror "${sources[@]}"
    echo "format: ${#sources[@]} files are clean"
else
    clang-format -i "${sources[@]}"
fi
