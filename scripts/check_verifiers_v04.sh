#!/usr/bin/env bash
# Tests the environment as it is shipped beside verifiers 0.4 (after make setup): builds its wheel, installs it in a second virtual environment
# (.venv-v04, kept between runs and remade only when the package changes), and runs the v1 and parity tests there.
# Usage: scripts/check_verifiers_v04.sh [pytest arguments]   PYTHON=python3.12 chooses another interpreter than .venv's.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-v04
stamp=$venv/package.sha256
package_hash=$(find environments/supersession scripts/check_verifiers_v04.sh -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' \
    -print0 | sort -z | xargs -0 sha256sum | sha256sum)

if [[ ! -f $stamp || $(<"$stamp") != "$package_hash" ]]; then
    [[ -x $venv/bin/python ]] || "${PYTHON:-.venv/bin/python}" -m venv "$venv"
    wheels=$(mktemp -d)
    trap 'rm -rf "$wheels"' EXIT
    "$venv/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$wheels" ./environments/supersession
    "$venv/bin/python" -m pip install --quiet 'verifiers>=0.4,<0.5' 'pytest>=9' "$wheels"/*.whl
    # The version alone does not tell pip that a wheel was rebuilt.
    "$venv/bin/python" -m pip install --quiet --no-deps --force-reinstall "$wheels"/*.whl
    printf '%s\n' "$package_hash" >"$stamp"
fi

"$venv/bin/python" -m pytest tests/adapters/test_v1.py tests/adapters/test_parity.py "$@"
# The server of the served model needs torch, which only .venv has; the client is this environment's.
.venv/bin/python -m pytest tests/adapters/test_served_model.py -k verifiers_04
