# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
#
# Creates folders with other Debian or Ubuntu releases. tests/matrix, tests/programs/matrix and tests/install/matrix
# source this file. Needs root, debootstrap and the network.
#
# $here is the top of the source tree. ROCEDRILL_MATRIX names the folder for all releases.
root=${ROCEDRILL_MATRIX:-/var/tmp/rocedrill-matrix}
minimal=$root/minimal
mirror=${ROCEDRILL_MIRROR:-http://deb.debian.org/debian}

need_root_and_debootstrap() {
    [ "$(id -u)" = 0 ] || { echo "$0: must be root, for debootstrap and chroot" >&2; exit 2; }
    command -v debootstrap >/dev/null || { echo "$0: needs debootstrap (tests/deps matrix)" >&2; exit 2; }
}

# make_release RELEASE FOLDER [MIRROR [SCRIPT [OPTION...]]]: a minimal system, a copy of $minimal/RELEASE, which is
# created the first time. debootstrap handles a release that it does not know like unstable.
make_release() {
    local release=$1 dir=$2 from=${3:-$mirror} script=${4:-} first=$minimal/$1
    [ -n "$script" ] || [ -e "/usr/share/debootstrap/scripts/$release" ] || script=/usr/share/debootstrap/scripts/sid
    if [ ! -d "$first" ]; then
        mkdir -p "$minimal"
        rm -rf "$first.part"
        debootstrap --variant=minbase "${@:5}" "$release" "$first.part" "$from" $script &&
            echo "127.0.0.1 localhost" >"$first.part/etc/hosts" &&
            # A mirror may be some days behind. apt still verifies the signature.
            echo 'Acquire::Check-Valid-Until "false";' >"$first.part/etc/apt/apt.conf.d/90matrix" &&
            # The folders are created again after a crash, so dpkg need not wait for the disk.
            echo force-unsafe-io >"$first.part/etc/dpkg/dpkg.cfg.d/matrix" &&
            mv "$first.part" "$first" || return 1
    fi
    rm -rf "$dir" && cp -a "$first" "$dir"
}

# inside FOLDER COMMAND...: runs the command with FOLDER as the root directory, in a separate mount namespace. In a
# plain chroot, programs cannot create user namespaces.
inside() {
    unshare --mount --propagation private sh -euc '
        dir=$1
        shift
        mount --bind "$dir" "$dir"
        cd "$dir"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        pivot_root . mnt
        umount -l /mnt
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive "$@"' inside "$@"
}

# copy_sources FOLDER: copies this source tree to FOLDER/src, without .git but with the commit.
copy_sources() {
    rm -rf "$1/src"
    mkdir "$1/src"
    (cd "$here" && git ls-files -co --exclude-standard -z |
        while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
        tar c --null -T -) | tar x -C "$1/src" &&
        git -C "$here" rev-parse --short HEAD >"$1/src/.packaging/commit"
}
