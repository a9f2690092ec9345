# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# What the guests are made of: a Debian kernel and the RDMA user space of the same release, both
# unpacked below the cache folder, never installed. Sourced by traces/record.
#
# In: $cache (folder), $host_release, $mirror. Functions print the path they made available.

# The user-space programs a guest needs; their libraries are found by apt's own dependencies.
guest_programs=(busybox-static iproute2 ibverbs-utils rdmacm-utils perftest ibverbs-providers)
# To build rxedrive against exactly those libraries.
guest_headers=(libc6-dev linux-libc-dev libibverbs-dev librdmacm-dev libnl-3-dev libnl-route-3-dev)

# apt for one release: the host's own configuration for the host's release, otherwise a private
# one that leaves the host's lists and sources alone. Usage: apt_for RELEASE get|cache ARGS...
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
        [ -n "$mirror" ] || die "which Debian archive has $release? Say --mirror URL"
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

# Unpack .deb files into a folder; a merged-/usr tree stays merged.
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

# fetch_kernel RELEASE KERNEL: KERNEL is empty (the release's own), a package name, or a .deb file.
# Prints the folder it is unpacked in; that folder has the file "version": package and version.
fetch_kernel() {
    local release=$1 kernel=$2 dir deb= version
    if [ -f "$kernel" ]; then
        deb=$(realpath "$kernel")
        kernel=$(dpkg-deb -f "$deb" Package) || die "$deb is no Debian package"
        dir=$cache/$release/$(basename "$deb" .deb)
    else
        # linux-image-amd64 is a meta package: its dependency names the real one.
        [ -n "$kernel" ] || kernel=$(apt_for "$release" cache depends linux-image-amd64 |
            sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
        [ -n "$kernel" ] || die "no linux-image package for $release in apt's lists: run apt-get update"
        dir=$cache/$release/$kernel
    fi
    if [ ! -e "$dir/version" ]; then
        say "fetching $kernel ($release)"
        rm -rf "$dir"
        mkdir -p "$dir/deb"
        if [ -z "$deb" ]; then
            (cd "$dir/deb" && apt_for "$release" get -q download "$kernel" >&2) ||
                die "cannot download $kernel"
            deb=$(echo "$dir"/deb/*.deb)
        fi
        unpack_debs "$dir/root" "$deb"
        version=$(basename "$dir"/root/usr/lib/modules/*)
        depmod -b "$dir/root" "$version"
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
