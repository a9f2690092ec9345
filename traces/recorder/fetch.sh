# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Downloads the guests' packages: a Debian kernel and the RDMA user space of the same release, both
# unpacked below the cache folder, not installed. Sourced by traces/record.
#
# Input: $cache (folder), $host_release, $mirror. The functions print the path of the result.

# Packages of a guest's programs; apt resolves their libraries.
guest_programs=(busybox-static iproute2 ibverbs-utils rdmacm-utils perftest ibverbs-providers)
# Packages to build rxedrive with the same libraries.
guest_headers=(libc6-dev linux-libc-dev libibverbs-dev librdmacm-dev libnl-3-dev libnl-route-3-dev)

# Runs apt for a release: with the host's configuration for the host's release, otherwise with a private
# configuration that does not change the host's lists and sources. Usage: apt_for RELEASE get|cache ARGS...
apt_for() {
    local release=$1 tool=$2
    shift 2
    if [ "$release" = "$host_release" ]; then
        "apt-$tool" "$@"
        return
    fi
    local dir=$cache/$release/apt
    if [ ! -e "$dir/updated" ]; then
        mkdir -p "$dir/lists/partial" "$dir/archives/partial"
        : >"$dir/status"
        [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' \
            "Label: Debian" "Codename: $host_release" "Created-By: Packages" 2>/dev/null | head -1)
        [ -n "$mirror" ] || die "unknown Debian archive for $release: use --mirror URL"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
            "$mirror $release main" >"$dir/sources.list"
        apt_private "$dir" get -q update >&2 && : >"$dir/updated"
    fi
    apt_private "$dir" "$tool" "$@"
}

apt_private() {
    local dir=$1 tool=$2
    shift 2
    "apt-$tool" -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" \
        -o Dir::Cache="$dir" -o Dir::Cache::archives="$dir/archives" \
        -o APT::Architectures=amd64 -o APT::Architecture=amd64 "$@"
}

# Unpacks .deb files into a folder with a merged /usr.
unpack_debs() {
    local dir=$1 deb
    shift
    mkdir -p "$dir/usr/lib" "$dir/usr/bin" "$dir/usr/sbin" "$dir/usr/lib64"
    for deb in lib lib64 bin sbin; do
        [ -e "$dir/$deb" ] || ln -s "usr/$deb" "$dir/$deb"
    done
    for deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --keep-directory-symlink \
            --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
            --exclude='./usr/share/locale/*'
    done
}

# fetch_kernel RELEASE KERNEL: KERNEL is a package name, a .deb file, or empty for the release's kernel.
# Prints the folder with the unpacked kernel; its file "version" has package and version.
fetch_kernel() {
    local release=$1 kernel=$2 dir deb= version
    if [ -f "$kernel" ]; then
        deb=$(realpath "$kernel")
        kernel=$(dpkg-deb -f "$deb" Package) || die "$deb: not a Debian package"
        dir=$cache/$release/$(basename "$deb" .deb)
    else
        # linux-image-amd64 is a metapackage: the kernel is its dependency.
        [ -n "$kernel" ] || kernel=$(apt_for "$release" cache depends linux-image-amd64 |
            sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
        [ -n "$kernel" ] || die "no linux-image package of $release in apt's lists: run apt-get update"
        dir=$cache/$release/$kernel
    fi
    if [ ! -e "$dir/version" ]; then
        say "fetching $kernel ($release)"
        rm -rf "$dir"
        mkdir -p "$dir/deb"
        if [ -z "$deb" ]; then
            # From Debian 14 on the image is a metapackage too: kernel and modules are its dependencies.
            # shellcheck disable=SC2046 # a list of package names
            (cd "$dir/deb" && apt_for "$release" get -q download "$kernel" $(
                apt_for "$release" cache depends "$kernel" |
                    sed -n 's/^ *Depends: \(linux-\(binary\|modules\)-[0-9].*\)/\1/p') >&2) ||
                die "cannot download $kernel"
            deb=$(echo "$dir"/deb/linux-image-*.deb)
            unpack_debs "$dir/root" "$dir"/deb/*.deb
        else
            unpack_debs "$dir/root" "$deb"
        fi
        version=$(basename "$dir"/root/usr/lib/modules/*)
        depmod -b "$dir/root" "$version"
        if [ ! -e "$dir/root/boot" ]; then # from Debian 14 on the image is in the folder of the modules
            mkdir "$dir/root/boot"
            ln -s "../usr/lib/modules/$version/vmlinuz" "$dir/root/boot/vmlinuz-$version"
        fi
        echo "$kernel $(dpkg-deb -f "$deb" Version)" >"$dir/version"
        rm -rf "$dir/deb"
    fi
    echo "$dir"
}

# fetch_userland RELEASE: prints the folder; the file "versions" there lists package=version.
fetch_userland() {
    local release=$1 dir=$cache/$1/userland packages
    if [ ! -e "$dir/versions" ]; then
        say "fetching the RDMA user space of $release"
        rm -rf "$dir"
        mkdir -p "$dir/deb"
        packages=$(apt_for "$release" cache depends --recurse --no-recommends --no-suggests \
            --no-conflicts --no-breaks --no-replaces --no-enhances \
            "${guest_programs[@]}" libc6 |
            grep -E '^(lib|zlib)[a-z0-9.+-]*$' |
            grep -vE '^lib(debian-installer|textwrap|newt|pam|semanage|slang)' | sort -u)
        # shellcheck disable=SC2086 # a list of package names
        (cd "$dir/deb" && apt_for "$release" get -q download $packages \
            "${guest_programs[@]}" "${guest_headers[@]}" >&2) ||
            die "cannot download the RDMA user space of $release"
        unpack_debs "$dir/root" "$dir"/deb/*.deb
        local deb
        for deb in "$dir"/deb/*.deb; do
            dpkg-deb -W --showformat='${Package}=${Version}\n' "$deb"
        done | sort >"$dir/versions"
        rm -rf "$dir/deb"
    fi
    echo "$dir"
}
