#!/usr/bin/env bash
# The package as a user has it: installed from this checkout, then types, catalogue and tests against a server.
#
#   client/python/check.sh BINARY [FOLDER]    BINARY is thinkd; the virtual environment lies in FOLDER (.venv)
set -euo pipefail
binary="$(realpath "${1:?the program thinkd}")"
cd "$(dirname "$0")"
venv="$(realpath -m "${2:-.venv}")"

[ -x "$venv/bin/pip" ] || python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check mypy==2.4.1
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall .

"$venv/bin/python" scripts/generate.py --check
"$venv/bin/mypy" thinkd
# From elsewhere, where only the installed package and its `py.typed` are seen.
(cd / && "$venv/bin/mypy" --strict --cache-dir=/dev/null -c 'from thinkd import Thinkd, events
for event in Thinkd().thread().say("hi"):
    turn: int = event.turn if isinstance(event, events.Reply) else 0')

# tested VERSION MODULE… : tests with this websockets; without modules all of them.
tested() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check "websockets==$1"
    echo "$("$venv/bin/python" --version), websockets $1"
    (cd tests && THINKD_BIN="$binary" "$venv/bin/python" -W default -m unittest --quiet "${@:2}")
}

tested 15.0 test_line test_resume # the oldest that pyproject.toml allows
tested 17.4
