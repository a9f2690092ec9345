# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Builds the initrd of a guest. It contains no files of the host. Sourced by traces/record.

guest_modules=(virtio_pci virtio_net crc32_generic crc32c_generic crc32_pclmul
    rdma_rxe ib_uverbs rdma_ucm ib_umad
    sch_netem sch_ingress cls_u32 act_gact 8021q)
guest_binaries=(busybox ip tc rdma
    ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_devinfo
    rping ucmatose udaddy mckey rstream
    ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat)

# Adds an ELF file and, recursively, its shared libraries from the guest's tree.
# Usage: add_elf ROOT DEST PATH-IN-ROOT
add_elf() {
    local root=$1 dest=$2 path=$3 lib
    [ -e "$dest/$path" ] && return
    install -D -m 755 "$root/$path" "$dest/${path/sbin/bin}"
    objdump -p "$root/$path" | sed -n 's/^ *NEEDED *//p' | while read -r lib; do
        if [ -e "$root/usr/lib/x86_64-linux-gnu/$lib" ]; then
            add_elf "$root" "$dest" "usr/lib/x86_64-linux-gnu/$lib"
        else
            warn "library $lib (for $path) is not in the guest's user space"
        fi
    done
}

# Prints the modules of a kernel tree in insmod order. Usage: module_order MODULES_DIR NAME...
module_order() {
    local dir=$1
    shift
    awk -v want="$*" '
        { file = $1; sub(/:$/, "", file); base = file; sub(/.*\//, "", base); sub(/\.ko.*/, "", base)
          path[base] = file; deps = ""
          for (i = NF; i > 1; i--) deps = deps " " $i
          dep[file] = deps }
        END { n = split(want, names, " ")
          for (i = 1; i <= n; i++) {
            if (!(names[i] in path)) continue        # the kernel has the module built in, or lacks it
            m = split(dep[path[names[i]]] " " path[names[i]], list, " ")
            for (j = 1; j <= m; j++) if (!(list[j] in done)) { done[list[j]] = 1; print list[j] } } }
    ' "$dir/modules.dep"
}

# build_initrd KERNEL_DIR USERLAND_DIR OUT
build_initrd() {
    local kernel=$1 userland=$2 out=$3 root=$2/root dest version modules file name bin
    dest=$out.tree
    rm -rf "$dest"
    mkdir -p "$dest"/{proc,sys,dev,run,tmp,etc,usr/lib/x86_64-linux-gnu,usr/bin,usr/sbin,usr/lib64,modules}
    for name in lib lib64 bin sbin; do ln -s "usr/$name" "$dest/$name"; done

    # Every program has the absolute path of the dynamic loader.
    cp -L "$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$dest/usr/lib64/" 2>/dev/null ||
        cp -L "$root/lib64/ld-linux-x86-64.so.2" "$dest/usr/lib64/"
    for name in "${guest_binaries[@]}"; do
        bin=$(cd "$root" && find usr/bin usr/sbin -type f -name "$name" | head -1)
        if [ -n "$bin" ]; then add_elf "$root" "$dest" "$bin"; else warn "no $name in the guest's user space"; fi
    done
    ln -s busybox "$dest/usr/bin/sh"
    # Libraries that pthread_exit and libibverbs load at run time.
    add_elf "$root" "$dest" usr/lib/x86_64-linux-gnu/libgcc_s.so.1
    add_elf "$root" "$dest" "$(cd "$root" && find usr/lib -name 'librxe-rdmav*.so' | head -1)"
    install -D -m 644 "$root/etc/libibverbs.d/rxe.driver" "$dest/etc/libibverbs.d/rxe.driver"

    build_rxedrive "$root" "$dest/usr/bin/rxedrive"
    install -m 755 "$here/recorder/init" "$dest/init"

    version=$(basename "$kernel"/root/usr/lib/modules/*)
    modules=$kernel/root/usr/lib/modules/$version
    module_order "$modules" "${guest_modules[@]}" | while read -r file; do
        name=$(basename "$file")
        case $name in
        *.ko.xz) xz -dc "$modules/$file" >"$dest/modules/${name%.xz}" ;;
        *.ko.zst) zstd -qdc "$modules/$file" >"$dest/modules/${name%.zst}" ;;
        *) cp "$modules/$file" "$dest/modules/$name" ;;
        esac
        name=${name%.xz}
        echo "${name%.zst}"
    done >"$dest/modules/order"

    (cd "$dest" && find . | cpio -o -H newc --quiet --owner=+0:+0 | gzip -1) >"$out"
    rm -rf "$dest"
}

# Builds rxedrive with the guest's libraries.
build_rxedrive() {
    local root=$1 out=$2 flags=()
    grep -q IBV_WR_FLUSH "$root/usr/include/infiniband/verbs.h" && flags=(-DRXEDRIVE_FLUSH)
    build_with "$root" "$out" "${flags[@]}" -I"$here" "$here"/recorder/rxedrive*.c
}

# build_with ROOT OUT ARGUMENT...: builds a verbs program with the libraries of a guest; -L precedes the host's library path.
build_with() {
    local root=$1 out=$2
    shift 2
    "${CC:-gcc}" --sysroot="$root" -std=gnu11 -O2 -g0 -Wall -Wextra -Werror -o "$out" "$@" \
        -L"$root/usr/lib/x86_64-linux-gnu" -libverbs -lrdmacm ||
        die "cannot build $(basename "$out")"
}
