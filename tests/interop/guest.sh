# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Starts a Linux guest with Soft-RoCE behind a tap interface, with the functions of traces/record. No root, no KVM.
# The guest runs in QEMU, or with GUEST_ACCEL=uml as a User-Mode Linux program (uml.sh).
# Everything is in namespaces that end with the script. Sourced by the scripts of this folder.
#
# Input: $release and the arguments of guest_enter. Output: 192.0.2.1/24 on tap0 here, 192.0.2.2 in the guest,
# $version (its kernel), $tmp, and guest_run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../traces" && pwd)
cache=${RECORD_CACHE:-$here/../build/record}
mirror=
mtu=4200
boot_seconds=${GUEST_BOOT_SECONDS:-300}
host_release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
release=$host_release

say() { echo "$(basename "$0"): $*" >&2; }
warn() { say "warning: $*"; }
die() { say "$*"; exit 2; }

. "$here/recorder/fetch.sh"
. "$here/recorder/initrd.sh"
. "$(dirname "${BASH_SOURCE[0]}")/uml.sh"
# Programs that traces/record does not need.
guest_binaries+=(riostream rcopy rdma_server rdma_client rdma_xserver rdma_xclient)
guest_modules+=(act_mirred cls_matchall) # modules that guest_pair needs

# guest_enter SCRIPT ARGUMENT...: downloads the guest's packages, then runs the script again in new namespaces.
# Called inside these namespaces, it returns at once. Exits with 77 if the machine lacks QEMU, tap interfaces or namespaces.
guest_enter() {
    local kernel userland user
    [ "${GUEST_INSIDE:-}" != 1 ] || return 0
    [ "${GUEST_ACCEL:-}" = uml ] || command -v qemu-system-x86_64 >/dev/null ||
        { say "QEMU not found (tests/deps record installs it)"; exit 77; }
    [ -w /dev/net/tun ] || { say "/dev/net/tun: not writable"; exit 77; }
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$cache"
    cache=$(cd "$cache" && pwd)
    if [ "${GUEST_ACCEL:-}" = uml ]; then kernel=$(fetch_uml "$release"); else kernel=$(fetch_kernel "$release" ""); fi || exit 2
    userland=$(fetch_userland "$release") || exit 2
    unshare -n true 2>/dev/null && user= || user=-r
    unshare $user -n true 2>/dev/null || { say "cannot create a network namespace"; exit 77; }
    export GUEST_INSIDE=1 GUEST_KERNEL=$kernel GUEST_USERLAND=$userland PATH
    exec unshare $user -n --pid --fork --kill-child --mount-proc "$@"
}

# guest_initrd [PROGRAM...]: creates the folder $tmp, which is removed at the end, and in it the initrd of a guest with
# these programs in its /usr/bin.
guest_initrd() {
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/roce-guest.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 2' INT TERM HUP
    build_initrd "$GUEST_KERNEL" "$GUEST_USERLAND" "$tmp/initrd"
    if [ $# -gt 0 ]; then # A second archive follows the first: the kernel unpacks both.
        mkdir -p "$tmp/more/usr/bin"
        install -m 755 "$@" "$tmp/more/usr/bin/"
        (cd "$tmp/more" && find . | cpio -o -H newc --quiet --owner=+0:+0 | gzip -1) >>"$tmp/initrd"
    fi
}

# guest_boot [PROGRAM...]: starts the guest with these programs in its /usr/bin.
guest_boot() {
    local card
    guest_initrd "$@"
    ip link set lo up
    ip tuntap add tap0 mode tap || { say "cannot create a tap interface"; exit 77; }
    ip link set tap0 mtu $mtu txqueuelen 5000 up # room for a burst of 8 MiB of READ responses
    ip addr add 192.0.2.1/24 dev tap0
    mkfifo "$tmp/agent.in" "$tmp/agent.out"
    exec 8<>"$tmp/agent.in" 9<>"$tmp/agent.out"
    if [ "${GUEST_ACCEL:-}" = uml ]; then
        guest_uml "$tmp" SIDE=right tap0 02:52:6f:43:45:02 &
        guest_pid=$!
        guest_wait
        return
    fi
    card=csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ufo=off
    # no_timer_check omits the kernel's check of the emulated timer, which fails on a busy host.
    nice qemu-system-x86_64 -accel "${GUEST_ACCEL:-tcg}" -cpu "${GUEST_CPU:-max}" -m 768 -smp 1 -nodefaults -display none -no-reboot \
        -kernel "$(echo "$GUEST_KERNEL"/root/boot/vmlinuz-*)" -initrd "$tmp/initrd" \
        -append "console=ttyS0 panic=-1 quiet no_timer_check SIDE=right MTU=$mtu" \
        -serial "file:$tmp/console" \
        -chardev "pipe,id=agent,path=$tmp/agent" -serial chardev:agent \
        -netdev tap,id=wire,ifname=tap0,script=no,downscript=no \
        -device "virtio-net-pci,netdev=wire,mac=02:52:6f:43:45:02,host_mtu=$mtu,$card" \
        >"$tmp/qemu" 2>&1 &
    guest_pid=$!
    guest_wait
}

# guest_wait: waits until the agent of guest_boot's guest is ready.
guest_wait() {
    local line
    read -r -t $boot_seconds line <&9 || {
        cat "$tmp/qemu"
        tail -5 "$tmp/console"
        die "the guest did not boot"
    }
    say "$line"
    version=$(echo "$line" | cut -d' ' -f3)
}

# guest_uml FOLDER SIDE (INTERFACE MAC)...: runs a guest as User-Mode Linux with these tap interfaces as its cards.
guest_uml() {
    local folder=$1 side=$2 cards=()
    shift 2
    while [ $# -gt 0 ]; do
        cards+=("vec${#cards[@]}:transport=tap,ifname=$1,mac=$2,mtu=9000")
        shift 2
    done
    # The guest's memory is a file in TMPDIR. On a disk, the kernel would write the file back continually.
    TMPDIR=/dev/shm exec "$(echo "$GUEST_KERNEL"/root/boot/vmlinuz-*)" mem=512M initrd="$tmp/initrd" uml_dir="$folder" \
        con=null con0=null,fd:1 ssl=null ssl1=fd:3,fd:4 panic=-1 quiet "$side" MTU=$mtu "${cards[@]}" \
        3<>"$folder/agent.in" 4<>"$folder/agent.out" >"$folder/console" 2>"$folder/qemu"
}

# guest_end: ends the guest and its network, so that guest_boot can start another.
guest_end() {
    kill -9 "$guest_pid" 2>/dev/null
    wait "$guest_pid" 2>/dev/null
    exec 8>&- 9>&-
    ip link del tap0
    rm -rf "$tmp"
}

# guest_pair_end: ends the guests and their network, so that guest_pair can start others.
guest_pair_end() {
    local name
    kill -9 "${guest_pids[@]}"
    wait "${guest_pids[@]}" 2>/dev/null
    guest_pids=()
    for name in wire1 wire2 ctl1 ctl2 sent1 sent2 wire ctl; do
        ip link del $name
    done
    rm -rf "$tmp"
}

guest_pids=()
# guest_pair [PROGRAM...]: starts both guests with these programs in /usr/bin. Each has the wire (eth0), a
# control network that is not recorded (eth1), and a card that mirrors its packets before netem (eth2).
guest_pair() {
    local side other n card in out line
    guest_initrd "$@"
    echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 2>/dev/null
    ip link set lo up
    for other in wire ctl; do
        ip link add "$other" type bridge mcast_snooping 0 && ip link set "$other" mtu 9100 up ||
            { say "cannot create a bridge"; exit 77; }
    done
    card=csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ufo=off
    for side in left right; do
        [ $side = left ] && n=1 || n=2
        for other in wire ctl sent; do
            ip tuntap add "$other$n" mode tap || { say "cannot create a tap interface"; exit 77; }
            ip link set "$other$n" mtu 9100 txqueuelen 8000 up
            [ $other = sent ] || ip link set "$other$n" master $other
        done
        mkdir "$tmp/$side"
        mkfifo "$tmp/$side/agent.in" "$tmp/$side/agent.out"
        exec {in}<>"$tmp/$side/agent.in" {out}<>"$tmp/$side/agent.out"
        if [ "${GUEST_ACCEL:-}" = uml ]; then
            guest_uml "$tmp/$side" "SIDE=$side" "wire$n" "02:52:6f:43:45:0$n" "ctl$n" "02:52:6f:43:46:0$n" "sent$n" "02:52:6f:43:47:0$n" &
            guest_pids+=($!)
            continue
        fi
        nice qemu-system-x86_64 -accel "${GUEST_ACCEL:-tcg}" -cpu max -m 512 -smp 1 -nodefaults -display none -no-reboot \
            -kernel "$(echo "$GUEST_KERNEL"/root/boot/vmlinuz-*)" -initrd "$tmp/initrd" \
            -append "console=ttyS0 panic=-1 quiet no_timer_check SIDE=$side MTU=$mtu" \
            -serial "file:$tmp/$side/console" \
            -chardev "pipe,id=agent,path=$tmp/$side/agent" -serial chardev:agent \
            -netdev "tap,id=wire,ifname=wire$n,script=no,downscript=no" \
            -device "virtio-net-pci,netdev=wire,mac=02:52:6f:43:45:0$n,host_mtu=$mtu,$card" \
            -netdev "tap,id=ctl,ifname=ctl$n,script=no,downscript=no" \
            -device "virtio-net-pci,netdev=ctl,mac=02:52:6f:43:46:0$n,$card" \
            -netdev "tap,id=sent,ifname=sent$n,script=no,downscript=no" \
            -device "virtio-net-pci,netdev=sent,mac=02:52:6f:43:47:0$n,host_mtu=$mtu,$card" \
            >"$tmp/$side/qemu" 2>&1 &
        guest_pids+=($!)
    done
    for side in left right; do
        exec {out}<>"$tmp/$side/agent.out"
        read -r -t $boot_seconds line <&$out || {
            cat "$tmp/$side/qemu"
            tail -5 "$tmp/$side/console"
            die "the $side guest did not boot"
        }
        say "$side: $line"
    done
    version=$(echo "$line" | cut -d' ' -f3)
}

# guest_run SECONDS COMMAND: runs a command in the guest; prints the first line of the agent's reply.
guest_run() {
    echo "1 $1 $2" >&8
    read -r -t 30 line <&9 || die "the guest does not answer"
    echo "$line"
}
