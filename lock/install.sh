#!/usr/bin/env bash
# Install the packages of a lock, and say how far it is.
#
#   lock/install.sh PYTHON LOCK
set -uo pipefail
python=$1 lock=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" -m pip install --no-deps --require-hashes --progress-bar off -r "$lock" 2>&1 |
    tee "$log" |
    awk -v total="$(grep -c == "$lock")" '
        /^(Collecting|Ignoring|Requirement already satisfied)/ && ++n % 30 == 0 { say(n " of " total " packages") }
        /^Installing collected packages/ { say("unpacking, the slowest step") }
        function say(text) { print "  " text; fflush() }'
if [ "${PIPESTATUS[0]}" != 0 ]; then
    grep -m 1 '^ERROR' "$log" >&2 || tail -n 1 "$log" >&2
    echo "Packages are missing. Check the network (behind a proxy, set HTTPS_PROXY) and repeat the command;" >&2
    echo "what was downloaded is kept." >&2
    exit 1
fi
