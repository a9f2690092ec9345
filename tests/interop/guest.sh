# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# A Linux guest with Soft-RoCE behind a tap interface, made as traces/record makes its own: no root, no KVM.
# Everything lives in namespaces that end with the script. Sourced by the scripts beside it.
#
# In: $release and what guest_enter is told. Out: 192.0.2.1/24 on tap0 here, 192.0.2.2 in the guest,
# $version of its kernel, $tmp, and guest_run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../traces" && pwd)
cache=${RECORD_CACHE:-$here/../build/record}
mirror=
mtu=4200
boot_seconds=300
host_release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
release=$host_release

say() { echo "$(basename "$0"): $*" >&2; }
warn() { say "warning: $*"; }
die() { say "$*"; exit 2; }

. "$here/recorder/fetch.sh"
. "$here/recorder/initrd.sh"
# What the recorder has no use for.
guest_binaries+=(riostream rcopy rdma_server rdma_client rdma_xserver rdma_xclient)

# guest_enter SCRIPT ARGUMENT...: fetches what the guest is made of, then starts the script anew in namespaces
# of its own; does nothing there. Exit status 77 where that cannot be done.
guest_enter() {
    local kernel userland user
    [ "${GUEST_INSIDE:-}" != 1 ] || return 0
    command -v qemu-system-x86_64 >/dev/null || { say "QEMU is not here (tests/deps record)"; exit 77; }
    [ -w /dev/net/tun ] || { say "no tap interfaces here: /dev/net/tun"; exit 77; }
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$cache"
    cache=$(cd "$cache" && pwd)
    kernel=$(fetch_kernel "$release" "") && userland=$(fetch_userland "$release") || exit 2
    unshare -n true 2>/dev/null && user= || user=-r
    unshare $user -n true 2>/dev/null || { say "no network namespace of our own"; exit 77; }
    export GUEST_INSIDE=1 GUEST_KERNEL=$kernel GUEST_USERLAND=$userland PATH
    exec unshare $user -n --pid --fork --kill-child --mount-proc "$@"
}

# guest_boot [PROGRAM...]: starts the guest, with these programs in its /usr/bin.
guest_boot() {
    local line card
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/roce-guest.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 2' INT TERM HUP
    build_initrd "$GUEST_KERNEL" "$GUEST_USERLAND" "$tmp/initrd"
    if [ $# -gt 0 ]; then # one more archive behind it: the kernel unpacks both
        mkdir -p "$tmp/more/usr/bin"
        install -m 755 "$@" "$tmp/more/usr/bin/"
        (cd "$tmp/more" && find . | cpio -o -H newc --quiet --owner=+0:+0 | gzip -1) >>"$tmp/initrd"
    fi
    ip link set lo up
    ip tuntap add tap0 mode tap || { say "no tap interface can be made"; exit 77; }
    ip link set tap0 mtu $mtu txqueuelen 5000 up # 8 MiB of READ responses in one go
    ip addr add 192.0.2.1/24 dev tap0
    mkfifo "$tmp/agent.in" "$tmp/agent.out"
    exec 8<>"$tmp/agent.in" 9<>"$tmp/agent.out"
    card=csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ufo=off
    # no_timer_check: on a busy machine an emulated timer looks broken to a kernel that tries it.
    nice qemu-system-x86_64 -accel tcg -cpu max -m 768 -smp 1 -nodefaults -display none -no-reboot \
        -kernel "$(echo "$GUEST_KERNEL"/root/boot/vmlinuz-*)" -initrd "$tmp/initrd" \
        -append "console=ttyS0 panic=-1 quiet no_timer_check SIDE=right MTU=$mtu" \
        -serial "file:$tmp/console" \
        -chardev "pipe,id=agent,path=$tmp/agent" -serial chardev:agent \
        -netdev tap,id=wire,ifname=tap0,script=no,downscript=no \
        -device "virtio-net-pci,netdev=wire,mac=02:52:6f:43:45:02,host_mtu=$mtu,$card" \
        >"$tmp/qemu" 2>&1 &
    read -r -t $boot_seconds line <&9 || {
        cat "$tmp/qemu"
        tail -5 "$tmp/console"
        die "the guest does not come up"
    }
    say "$line"
    version=$(echo "$line" | cut -d' ' -f3)
}

# guest_run SECONDS COMMAND: the first line that the guest's agent says of it.
guest_run() {
    echo "1 $1 $2" >&8
    read -r -t 30 line <&9 || die "the guest does not answer"
    echo "$line"
}
