#!/usr/bin/env bash
# How long a newcomer waits: `cargo build --release` from nothing, on two cores; the crates are fetched before.
#   bench/cold_build.sh [PROFILE]      release unless another is named; prints the seconds, and the CPU's
# In a folder of its own, which is removed afterwards. It means something only where nothing else runs.
set -euo pipefail
cd "$(dirname "$0")/.."
profile="${1:-release}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
two=()
command -v taskset >/dev/null && two=(taskset -c 0,1)
cargo fetch --locked --quiet
unset RUSTFLAGS CARGO_BUILD_JOBS
TIMEFORMAT="cargo build --profile $profile from nothing: %0R s on two cores; of CPU %0U s, %0S s in the system"
time CARGO_TARGET_DIR="$folder" "${two[@]}" cargo build --profile "$profile" --locked --quiet --jobs 2
stat -c "thinkd has %s bytes" "$folder/$profile/thinkd"
