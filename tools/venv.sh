#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A fresh environment, build/venv, with the Python binding installed from this tree; no network.
set -euo pipefail
. tools/common.sh

rm -rf build/venv
"$python" -m venv --system-site-packages build/venv
build/venv/bin/python -m pip install --quiet --no-build-isolation --no-deps --no-index \
    --disable-pip-version-check ./bindings/python
