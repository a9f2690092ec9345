# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Scenarios: small scripts in traces/scenarios. Sourced by traces/record.
#
# The first line of a scenario describes its capture. Further comment lines of the form
# "# key: value" set: link-mtu (1500), release (this machine's), capture-at (right; the guest
# at which the wire is recorded). The rest is shell, with the functions under "Functions of a scenario".

scenario_names() {
    local file
    for file in "$here"/scenarios/*.sh; do basename "$file" .sh; done
}

scenario_shows() { sed -n '1s/^# *//p' "$here/scenarios/$1.sh"; }

# scenario_get NAME KEY DEFAULT
scenario_get() {
    local value
    value=$(sed -n "s/^# $2: *//p" "$here/scenarios/$1.sh" | head -1)
    echo "${value:-$3}"
}

scenario_list() {
    local name
    for name in $(scenario_names); do printf '%-28s %s\n' "$name" "$(scenario_shows "$name")"; done
}

# Runs scenarios. Scenarios with the same kernel and link MTU share one boot.
scenarios_run() {
    local name key keys=() failed=()
    for name; do
        [ -e "$here/scenarios/$name.sh" ] || die "no scenario $name (see traces/record --list)"
        keys+=("${release:-$(scenario_get "$name" release "$host_release")} $(scenario_get "$name" link-mtu 1500) $name")
    done
    local booted="" want_release want_mtu
    while read -r want_release want_mtu name; do
        key="$want_release $want_mtu"
        if [ "$key" != "$booted" ]; then
            [ -z "$booted" ] || pair_stop
            # Separate assignments: a failure in $(...) must end the run.
            kernel_dir=$(fetch_kernel "$want_release" "$kernel") || exit 2
            userland_dir=$(fetch_userland "$want_release") || exit 2
            build_initrd "$kernel_dir" "$userland_dir" "$tmp/initrd"
            pair_boot "$kernel_dir" "$tmp/initrd" "$want_mtu"
            booted=$key
        fi
        scenario_record "$name" || failed+=("$name")
    done < <(printf '%s\n' "${keys[@]}" | sort -s -k1,2)
    [ ${#failed[@]} = 0 ] || { say "failed: ${failed[*]}"; exit 1; }
}

scenario_record() {
    local name=$1 at dump=$tmp/dump.pcap problem= commands=() side
    at=$(scenario_get "$name" capture-at right)
    report=$tmp/report
    : >"$report"
    rm -f "$dump"
    dump_start "$at" "$dump"
    # shellcheck disable=SC1090
    . "$here/scenarios/$name.sh" || problem="the scenario failed"
    sleep 0.5
    dump_stop "$at"
    for side in left right; do
        guest_begin "$side" 20 "/usr/bin/tc qdisc del dev eth0 root; /usr/bin/tc qdisc del dev eth0 clsact; killall rxedrive rping ucmatose udaddy mckey; true"
        guest_end "$side" "$id" 30
    done 2>/dev/null
    [ -n "$problem" ] || problem=$(capture_problem "$dump")
    if [ -n "$problem" ]; then
        say "$name: FAILED: $problem"
        sed 's/^/    /' "$report" >&2
        cp "$dump" "$cache/failed-$name.pcap"
        cp "$report" "$cache/failed-$name.txt"
        return 1
    fi
    capture_keep "$name" "$dump"
}

# Prints the errors of a recorded file; nothing if it is acceptable.
capture_problem() {
    local size directions
    size=$(stat -c %s "$1")
    [ "$size" -le "$max_bytes" ] || { echo "$size bytes: larger than $max_bytes"; return; }
    directions=$(tshark -r "$1" -T fields -e eth.src 2>/dev/null | sort -u | wc -l)
    [ "$directions" = 2 ] || echo "frames of $directions senders instead of 2"
}

capture_keep() {
    local name=$1 frames kernel_version rdma_core peer userland command
    frames=$(tshark -r "$2" 2>/dev/null | wc -l)
    kernel_version=$(cat "$kernel_dir/version")
    peer=$(sed -E 's/.* ([0-9]+\.[0-9]+).*/linux-rxe-\1/' "$kernel_dir/version")
    rdma_core=$(sed -n 's/^libibverbs1=/rdma-core /p' "$userland_dir/versions")
    userland="$rdma_core, $(sed -n 's/^perftest=/perftest /p' "$userland_dir/versions")"
    command=$(printf '%s; ' "${commands[@]}")
    cp "$2" "$out/$name.pcap"
    {
        echo "# $(scenario_shows "$name")"
        echo "# $peer: $kernel_version, $userland; link MTU $want_mtu, recorded at the ${at} guest"
        cat "$report"
    } >"$out/$name.txt"
    manifest_set "$name.pcap" "$peer" "$(scenario_shows "$name")" "$kernel_version" \
        "${command%; }" "$userland" "$frames"
    say "$name: $frames frames"
}

# --- Functions of a scenario. Each returns the status of its command.

# on SIDE COMMAND...: runs a command on one guest and waits for it.
on() {
    local side=$1 status command
    shift
    command=$(echo "$*" | tr -s '[:space:]' ' ')
    command=${command% }
    commands+=("$side: $command")
    echo "$side\$ $command" >>"$report"
    guest_begin "$side" "$scenario_seconds" "$command"
    local mine=$id
    guest_end "$side" "$mine" $((scenario_seconds + 10))
    status=$?
    report_end "$side" "$mine" "$status"
    return $status
}

# serve COMMAND...: starts a server on the right. client COMMAND...: runs a client on the left and waits for both.
serve() {
    commands+=("right: $*")
    echo "right\$ $*" >>"$report"
    guest_begin right "$scenario_seconds" "$*"
    server=$id
    sleep 2 # the time a server needs to listen, on an emulated processor
}
client() {
    local left_status right_status
    on left "$*"
    left_status=$?
    guest_end right "$server" "${server_seconds:-10}"
    right_status=$?
    report_end right "$server" "$right_status"
    [ "$left_status" = "${left_expect:-0}" ] && [ "$right_status" = "${right_expect:-0}" ]
}

# drive ARGS...: runs rxedrive on both guests with the same arguments.
drive() {
    local args status=0 left_id right_id
    args=$(quote "$@")
    commands+=("rxedrive$args")
    echo "both\$ rxedrive$args" >>"$report"
    guest_begin right "$scenario_seconds" "rxedrive --right$args"
    right_id=$id
    guest_begin left "$scenario_seconds" "rxedrive --left$args"
    left_id=$id
    guest_end left "$left_id" $((scenario_seconds + 10)) || status=$?
    guest_end right "$right_id" 20 || status=$?
    report_end left "$left_id" "$(cat "$tmp/left.rc.$left_id" 2>/dev/null || echo none)"
    report_end right "$right_id" "$(cat "$tmp/right.rc.$right_id" 2>/dev/null || echo none)"
    return $status
}

# Prints arguments in shell syntax, quoted only if necessary.
quote() {
    local arg
    for arg; do
        if [[ $arg =~ ^[A-Za-z0-9_=,:./+-]+$ ]]; then printf ' %s' "$arg"; else printf " '%s'" "$arg"; fi
    done
}

report_end() { # SIDE ID STATUS
    {
        [ ! -e "$tmp/$1.out.$2" ] || sed "s/^/$1: /" "$tmp/$1.out.$2"
        echo "$1: exit status $3"
    } >>"$report"
}

# netem SIDE ARGS: impairs the frames that a guest sends (see tc-netem).
netem() {
    local side=$1
    shift
    on "$side" "/usr/bin/tc qdisc replace dev eth0 root netem $*"
}

# drop SIDE ingress|egress FIELD VALUE [HOW]: drops RoCEv2/IPv4 frames on their way into or out of
# a guest whose psn, opcode or (on QP 1) MAD attribute is VALUE. HOW: "first" (default; tc
# counts only to two, so the first, the third and so on) or "all". Frames that the
# recording guest drops on ingress are in the capture; frames that a guest drops on egress never
# reach the wire.
drop() {
    local side=$1 way=$2 match how="random determ pass 2"
    # "trap" drops silently; with "drop" on egress rxe would notice and retransmit.
    # Offsets from an IPv4 header without options: UDP at 20, BTH at 28, DETH at 40, MAD at 48.
    case $3 in
    psn) match="match u32 $4 0x00ffffff at 36" ;;
    opcode) match="match u8 $4 0xff at 28" ;;
    attribute) match="match u32 1 0x00ffffff at 32 match u16 $4 0xffff at 64" ;;
    esac
    [ "${5:-first}" = first ] || how=
    on "$side" "/usr/bin/tc qdisc add dev eth0 clsact 2>/dev/null;" \
        "/usr/bin/tc filter add dev eth0 $way protocol ip u32" \
        "match ip dport 4791 0xffff $match action gact trap $how"
}
