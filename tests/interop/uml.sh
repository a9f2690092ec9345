# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Builds the kernel of a Debian release as a User-Mode Linux program, which needs neither KVM nor an emulated processor.
# Sourced by guest.sh.
#
# Input: $cache (folder), and the functions of traces/recorder/fetch.sh.

# All drivers are built in. INFINIBAND needs DMA, which User-Mode Linux has only with its emulated PCI bus.
uml_config='EXPERT DEBUG_INFO_NONE HIGH_RES_TIMERS INIT_ON_ALLOC_DEFAULT_ON BLK_DEV_INITRD DEVTMPFS TMPFS SSL NULL_CHAN STDERR_CONSOLE
    VIRTIO_UML UML_PCI_OVER_VIRTIO UML_NET UML_NET_VECTOR PACKET UNIX INET IPV6 VLAN_8021Q
    NET_SCHED NET_SCH_NETEM NET_SCH_INGRESS NET_CLS NET_CLS_ACT NET_CLS_MATCHALL NET_CLS_U32 NET_ACT_MIRRED NET_ACT_GACT GACT_PROB
    INFINIBAND INFINIBAND_USER_MAD INFINIBAND_USER_ACCESS INFINIBAND_ADDR_TRANS RDMA_RXE'

# fetch_uml RELEASE: downloads the source of the release's kernel and builds it. Prints the folder, laid out like fetch_kernel's.
fetch_uml() {
    local release=$1 dir=$cache/$1/uml package version name
    if [ ! -e "$dir/version" ]; then
        package=$(apt_for "$release" cache depends linux-source | sed -n 's/^ *Depends: \(linux-source-[0-9].*\)/\1/p' | head -1)
        [ -n "$package" ] || die "no linux-source package of $release in apt's lists: run apt-get update"
        say "fetching $package ($release) and building it as User-Mode Linux"
        rm -rf "$dir"
        mkdir -p "$dir/deb"
        (cd "$dir/deb" && apt_for "$release" get -q download "$package" >&2) || die "cannot download $package"
        unpack_debs "$dir/source" "$dir"/deb/*.deb
        tar -xf "$dir/source/usr/src/$package.tar.xz" -C "$dir"
        (
            cd "$dir/$package" || exit
            sed -i '/^config HZ$/,/default/s/default 100/default 250/' arch/um/Kconfig # HZ of Debian's kernels
            # Without this line a card's MTU is at most 1500.
            sed -i 's/dev->mtu = get_mtu(def);/dev->mtu = dev->max_mtu = get_mtu(def);/' arch/um/drivers/vector_kern.c
            # Registers of a processor with AMX take 11008 bytes. The host accepts a larger buffer, and rejects a smaller one.
            sed -i 's/HOST_FP_SIZE, 2696/HOST_FP_SIZE, 12288/' arch/x86/um/user-offsets.c
            make -s ARCH=um x86_64_defconfig
            for name in $uml_config; do echo "CONFIG_$name=y"; done >>.config
            # The larger buffer is on the kernel's stack.
            printf '%s\n' 'CONFIG_LOCALVERSION="-uml"' CONFIG_KERNEL_STACK_ORDER=3 CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID=1234 \
                'CONFIG_NO_IOMEM=n' 'CONFIG_MODULES=n' >>.config
            make -s ARCH=um olddefconfig && nice make -s ARCH=um -j"$(nproc)" linux
        ) >"$dir/build.log" 2>&1 || die "cannot build $package: $dir/build.log"
        version=$(make -s -C "$dir/$package" ARCH=um kernelrelease)
        mkdir -p "$dir/root/boot" "$dir/root/usr/lib/modules/$version"
        : >"$dir/root/usr/lib/modules/$version/modules.dep"
        mv "$dir/$package/linux" "$dir/root/boot/vmlinuz-$version"
        echo "$package $(dpkg-deb -f "$dir"/deb/*.deb Version)" >"$dir/version"
        rm -rf "$dir/deb" "$dir/source" "${dir:?}/$package"
    fi
    echo "$dir"
}
