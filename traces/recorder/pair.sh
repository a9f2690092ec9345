# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Starts and controls two QEMU guests, "left" and "right", on one wire. Sourced by traces/record.
#
# Each guest has two cards: the wire (recorded, eth0) and a control network (eth1) on which programs
# exchange data that must not be captured. Both are raw Ethernet frames in datagrams between unix
# sockets: they use no port, and a full socket blocks the sender instead of dropping a frame.
# Each guest is controlled through two pairs of FIFOs: QEMU's monitor (QMP) and the agent (ttyS1).

declare -A pid qmp_in qmp_out agent_in agent_out
command_count=0

# pair_boot KERNEL_DIR INITRD MTU: boots both guests and waits for their agents.
pair_boot() {
    local kernel=$1 initrd=$2 mtu=$3 side line
    say "booting two guests: $(cat "$kernel/version"), link MTU $mtu"
    for side in left right; do guest_start "$side" "$kernel" "$initrd" "$mtu"; done
    for side in left right; do
        if ! read -r -t "$boot_seconds" line <&"${agent_out[$side]}"; then
            tail -5 "$tmp/$side.console" >&2
            die "guest $side did not boot within $boot_seconds s"
        fi
        [[ $line == "agent ready"*0x* || $line == "agent ready"*:* ]] ||
            die "guest $side has no Soft-RoCE device: $line"
        qmp "$side" '{"execute":"qmp_capabilities"}'
    done
    sleep 3 # time in which IPv6 sends its messages about a new interface
}

guest_start() {
    local side=$1 kernel=$2 initrd=$3 mtu=$4 other n fifo fd card
    if [ "$side" = left ]; then other=right n=1; else other=left n=2; fi
    for fifo in qmp agent; do
        mkfifo "$tmp/$side.$fifo.in" "$tmp/$side.$fifo.out"
        exec {fd}<>"$tmp/$side.$fifo.in"
        declare -g "${fifo}_in[$side]=$fd"
        exec {fd}<>"$tmp/$side.$fifo.out"
        declare -g "${fifo}_out[$side]=$fd"
    done
    card=csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ufo=off
    timeout "$guest_seconds" nice qemu-system-x86_64 -accel tcg -cpu max -m 768 -smp 1 \
        -nodefaults -display none -no-reboot \
        -kernel "$(echo "$kernel"/root/boot/vmlinuz-*)" -initrd "$initrd" \
        -append "console=ttyS0 panic=-1 quiet no_timer_check SIDE=$side MTU=$mtu" \
        -serial "file:$tmp/$side.console" \
        -chardev "pipe,id=agent,path=$tmp/$side.agent" -serial chardev:agent \
        -chardev "pipe,id=qmp,path=$tmp/$side.qmp" -mon chardev=qmp,mode=control \
        -netdev "dgram,id=wire,local.type=unix,local.path=$tmp/$side.wire,remote.type=unix,remote.path=$tmp/$other.wire" \
        -device "virtio-net-pci,netdev=wire,mac=02:52:6f:43:45:0$n,host_mtu=$mtu,$card" \
        -netdev "dgram,id=control,local.type=unix,local.path=$tmp/$side.control,remote.type=unix,remote.path=$tmp/$other.control" \
        -device "virtio-net-pci,netdev=control,mac=02:52:6f:43:46:0$n,$card" \
        >"$tmp/$side.qemu" 2>&1 &
    pid[$side]=$!
}

# pair_stop: ends both guests. The exit trap calls it too, so it accepts a partly started pair.
pair_stop() {
    local side fd
    for side in "${!pid[@]}"; do kill "${pid[$side]}" 2>/dev/null; done
    for side in "${!pid[@]}"; do wait "${pid[$side]}" 2>/dev/null; done
    for fd in "${qmp_in[@]}" "${qmp_out[@]}" "${agent_in[@]}" "${agent_out[@]}"; do
        exec {fd}>&-
    done
    pid=() qmp_in=() qmp_out=() agent_in=() agent_out=()
    rm -f "$tmp"/{left,right}.*
}

# qmp SIDE JSON: sends one monitor command and waits for its answer.
qmp() {
    local side=$1 line
    echo "$2" >&"${qmp_in[$side]}"
    while read -r -t 20 line <&"${qmp_out[$side]}"; do
        case $line in
        *'"return"'*) return 0 ;;
        *'"error"'*) die "monitor of guest $side: $line" ;;
        esac
    done
    die "monitor of guest $side does not answer"
}

dump_start() { # SIDE FILE
    qmp "$1" "{\"execute\":\"object-add\",\"arguments\":{\"qom-type\":\"filter-dump\",
        \"id\":\"dump\",\"netdev\":\"wire\",\"file\":\"$2\",\"maxlen\":65535}}"
}

dump_stop() { # SIDE
    qmp "$1" '{"execute":"object-del","arguments":{"id":"dump"}}'
}

# guest_begin SIDE SECONDS COMMAND: starts a command and sets $id for guest_end.
guest_begin() {
    id=$((++command_count))
    echo "$id $2 ${3//$'\n'/ }" >&"${agent_in[$1]}"
}

# guest_end SIDE ID SECONDS: waits for command ID and returns its status. Its output is in
# $tmp/SIDE.out.ID. Output of other commands is stored for their guest_end.
guest_end() {
    local side=$1 want=$2 deadline=$((SECONDS + $3)) id kind text
    while [ ! -e "$tmp/$side.rc.$want" ]; do
        if read -r -t 1 id kind text <&"${agent_out[$side]}"; then
            case $kind in
            out) echo "$text" >>"$tmp/$side.out.$id" ;;
            rc) echo "$text" >"$tmp/$side.rc.$id" ;;
            esac
        elif ! kill -0 "${pid[$side]}" 2>/dev/null; then
            die "guest $side ended: $(tail -3 "$tmp/$side.console" "$tmp/$side.qemu")"
        fi
        [ "$SECONDS" -lt "$deadline" ] || return 124
    done
    return "$(cat "$tmp/$side.rc.$want")"
}
