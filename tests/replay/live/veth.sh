# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Creates two network namespaces for a test, with a veth pair between them. The namespaces end with
# the test. The scripts in this folder source this file.
#
# Input: $mtu, and the arguments of the script, of which the first are BIN-FOLDER TRACES-FOLDER.
# Result: interface va with 192.0.2.1 and 2001:db8::1 in this namespace; interface vb with 192.0.2.2
# and 2001:db8::2 in the namespace of process $far; $bin, $traces, $dir and the functions below.
if [ "${LIVE_INSIDE:-}" != 1 ]; then
    unshare -n true 2>/dev/null && user= || user=-r
    unshare $user -n true 2>/dev/null || { echo "cannot create a network namespace"; exit 77; }
    LIVE_INSIDE=1 exec unshare $user -n --pid --fork --kill-child --mount-proc "$0" "$@"
fi
bin=$1 traces=$2
dir=$(mktemp -d)
fails=0
trap 'rm -rf "$dir"' EXIT

# Runs a command in the far namespace, which exists as long as its sleep process.
there() { nsenter --target "$far" --net "$@"; }

unshare -n sleep 600 &
far=$!
ip link set lo up
for _ in $(seq 100); do
    [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/$$/ns/net)" ] && break
    sleep 0.05
done
ip link add va mtu "$mtu" type veth peer name vb mtu "$mtu"
ip link set vb netns $far
ip addr add 192.0.2.1/24 dev va
ip addr add 2001:db8::1/64 dev va nodad
ip link set va up
there ip link set lo up
there ip addr add 192.0.2.2/24 dev vb
there ip addr add 2001:db8::2/64 dev vb nodad
there ip link set vb up

# Checks the result of a replay that has written $dir/out and $dir/err.
verdict() { # WHAT STATUS WANTED [PATTERN]
    if [ "$2" = "$3" ] && { [ -z "${4:-}" ] || grep -qE "$4" "$dir/out" "$dir/err"; }; then
        echo "ok: $1"
    else
        echo "FAIL: $1: exit status $2 instead of $3${4:+, or no \"$4\"}"
        cat "$dir/out" "$dir/err" "$dir/far"
        fails=$((fails + 1))
    fi
}
