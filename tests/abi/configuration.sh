#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/CONFIGURATION.md is what the library itself says about its options. After a change of the
# table: describe_options > docs/CONFIGURATION.md, with the program from the build tree's tests/.
# usage: configuration.sh DESCRIBE_OPTIONS CONFIGURATION
set -euo pipefail
"$1" | diff -u --label docs/CONFIGURATION.md --label 'the library' "$2" -
