#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Installs RoCEdrill in each way that README.md offers, uses the installed files, and removes them.

    install.py prefix|own_prefix|system|plugin_script|packages --build DIR --source DIR

prefix         cmake --install --prefix HOME/.local as an ordinary user, then the target uninstall
own_prefix     cmake --install with other prefixes, below the home folder or not: no file is outside of the prefix
system         cmake --install with the prefix /usr and DESTDIR: the plugin goes into Wireshark's own folders
plugin_script  plugin/install --user and --system, then --remove
packages       the target package: contents, lintian, the programs, manual pages and completions of the unpacked packages;
               programs that use the unpacked librnic

Nothing is changed outside of a temporary folder: the system folder of Wireshark is covered by a mount in a namespace.
Root runs tshark and the installation of an ordinary user as nobody, because tshark ignores a user's plugins for root.
An overlay then hides the build folder, so that nobody can write its manifest.
"""
import argparse
import glob
import gzip
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
FIELDS = ["roce.bth.opcode", "roce.stream", "roce.icrc.status"]
COMMANDS = ["agent", "check", "decode", "drill", "edit", "import", "merge", "plot", "replay"]
PAGES = ["rocedump", "rocedrill", "rnic-info", "rnic-run"] + ["rocedrill-" + command for command in COMMANDS]
# Command lines, each with the expected completion of its last word.
COMPLETED = [(["rocedrill", "rep"], "replay"), (["rocedrill-agent", "--lis"], "--listen"), (["rocedrill", "check", "--js"], "--json"),
             (["rnic-run", "--tim"], "--timeline"), (["rnic-info", "--wat"], "--watch"),
             (["rnic-info", "link", "--js"], "--json"), (["rocedrill", "check", "capt"], "")]
# Headers that another header includes, and that cannot be compiled alone.
PARTS = ["device/rnic_mr.h", "device/rnic_qp.h", "wire/hdr_gen.h"]
# What each program prints with --version, after its version and the commit. Only three of them parse and capture packets.
COMPUTED = r"CRC-32: (isal|libdeflate|portable)\n"
CAPTURES = r"libpcap version \d.*\n"
VERSIONS = {"rocedrill": COMPUTED + CAPTURES + r"libseccomp: .+\n", "rocedrill-agent": COMPUTED + r"libpcap: not used\n",
            "rnic-run": COMPUTED + CAPTURES, "rnic-info": COMPUTED + CAPTURES, "rocedump": r"CRC-32: not computed\n" + CAPTURES}
# A capture with one frame, which is not RoCE.
NO_ROCE = (b"\xd4\xc3\xb2\xa1\x02\0\x04\0" + bytes(9) + b"\0\x04\0\x01\0\0\0" + bytes(8) + b"\x0e\0\0\0" * 2 + b"\xff" * 12 +
           b"\x08\x06")
PROGRAMS = ["rocedrill", "rocedrill-agent", "rnic-run", "rnic-info"]


def run(command, **options):
    """Returns the standard output. Exits with the output of a command that fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


class Place:
    """Temporary home folder of an ordinary user."""

    def __init__(self, args):
        self.build, self.source = args.build, args.source
        self.dir = tempfile.mkdtemp(prefix="rocedrill-install-")
        self.home = os.path.join(self.dir, "home of a user")
        os.mkdir(self.home)
        self.capture = os.path.join(self.dir, "demo.pcap")
        shutil.copy(os.path.join(args.source, "traces/captures/demo-conversation.pcap"), self.capture)
        self.env = {"HOME": self.home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        self.user = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)

    def give_to_user(self):
        """As root, gives the folder to the user nobody, who runs the commands of run_as_user()."""
        if os.getuid() == 0:
            self.user = NOBODY
            run(["chown", "-R", "65534:65534", self.dir])

    def run_as_user(self, command, **env):
        return run(self.user + command, env=dict(self.env, **env), cwd=self.dir)

    def decoded(self):
        """Returns the number of packets of the capture in which tshark prints all FIELDS; 0 without the plugin."""
        command = ["tshark", "-n", "-r", self.capture, "-T", "fields"]
        for field in FIELDS:
            command += ["-e", field]
        done = subprocess.run(self.user + command, env=self.env, capture_output=True, text=True)
        return sum(all(line.split("\t")) for line in done.stdout.splitlines()) if done.returncode == 0 else 0

    def coloured(self):
        """Returns the packet list as tshark colours it in the default profile."""
        return self.run_as_user(["tshark", "--color", "-T", "psml", "-n", "-r", self.capture])


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def use_data(place, prefix):
    """Uses the installed drills, captures and profile. Returns errors."""
    rocedrill = os.path.join(prefix, "bin/rocedrill")
    wrong = []
    if "fail" not in place.run_as_user([rocedrill, "drill", "--quiet", f"{prefix}/share/rocedrill/conformance/rc-rsp"]):
        wrong.append("the installed drills do not run")
    replayed = place.run_as_user([rocedrill, "replay", f"{prefix}/share/rocedrill/traces"])
    if "; all as expected\n" not in replayed:
        wrong.append(f"the installed captures: {replayed}")
    if not os.path.isfile(prefix + "/share/wireshark/profiles/RoCE/preferences"):
        wrong.append("the profile RoCE is not installed")
    named = subprocess.run([rocedrill, "check", "-"], input=NO_ROCE, capture_output=True).stderr.decode()
    page = re.search(r"\(document (\S+\.md)\)", named)
    if not page or "/" in page[1] or not glob.glob(f"{prefix}/share/doc/rocedrill/**/{page[1]}", recursive=True):
        wrong.append(f"the document that a message names is not installed: {named}")
    vscode = prefix + "/share/rocedrill/vscode"
    with open(vscode + "/package.json", encoding="utf-8") as file:
        adds = json.load(file)["contributes"]
    editors = [f"{prefix}/share/vim/vimfiles/{part}/drill.vim" for part in ("syntax", "ftdetect")]
    editors += [f"{vscode}/{row['path']}" for row in adds["grammars"]] + [f"{vscode}/{row['configuration']}" for row in adds["languages"]]
    wrong += [f"{name}: the editor file is not installed" for name in editors if not os.path.isfile(name)]
    return wrong


def use_programs(place, prefix):
    """Runs the installed programs. Returns errors."""
    wrong = []
    for name in PROGRAMS:
        path = os.path.join(prefix, "bin", name)
        if not os.access(path, os.X_OK):
            wrong.append(f"{path}: not installed")
    if wrong:
        return wrong
    if "verdict: holds" not in place.run_as_user([os.path.join(prefix, "bin/rocedrill"), "check", place.capture]):
        wrong.append("the installed rocedrill does not check a capture")
    paths = [os.path.join(prefix, "bin", name) for name in PROGRAMS]
    user = os.path.dirname(prefix)  # of ~/.local
    paths += glob.glob(f"{prefix}/lib/**/extcap/rocedump", recursive=True) + glob.glob(f"{user}/.config/wireshark/extcap/rocedump")
    for path in paths:
        name = os.path.basename(path)
        said = place.run_as_user([path, "--version"])
        if not re.fullmatch(name + r" \d+\.\d+\.\d+ \([0-9a-f]{7,}\)\n" + VERSIONS.pop(name), said):
            wrong.append(f"{name} --version prints {said}")
    if VERSIONS:
        wrong.append(f"not installed: {', '.join(VERSIONS)}")
    devices = place.run_as_user([os.path.join(prefix, "bin/rnic-run"), "--net", "--", "ibv_devices"])
    if "rnic_" not in devices or "ERROR" in devices:
        wrong.append(f"ibv_devices on the installed rnic-run lists no device: {devices}")
    return wrong


def zsh_completes(place, folder, line):
    """Returns the command line after the key Tab in an interactive zsh."""
    setup = f"""fpath=("{folder}" $fpath); autoload -Uz compinit; compinit -D -u; bindkey '^I' complete-word
        show() {{ zle -I; print -r -- "<<$BUFFER>>"; BUFFER= }}; zle -N show; bindkey '^X' show; print re''ady\n"""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place.dir)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": place.home, "PS1": ""})
    os.write(terminal, setup.encode())
    printed, found, typed, end = "", None, False, time.monotonic() + 60
    while not found and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            printed += os.read(terminal, 65536).decode(errors="replace")
        if not typed and re.search("^ready", printed, re.M):
            os.write(terminal, line.encode() + b"\t\x18")
            typed = True
        found = re.search("^<<(.*)>>", printed, re.M)
    os.close(terminal)
    os.waitpid(child, 0)
    return found[1] if found else printed


def broken_links(prefix):
    """Returns errors: relative links of the installed documents that lead to no file, and a manual page without the folder."""
    top, wrong, links = f"{prefix}/share/doc/rocedrill", [], 0
    for path in glob.glob(f"{top}/**/*.md", recursive=True):
        with open(path, encoding="utf-8") as file:
            targets = re.findall(r"\]\(([^)\s#]+)", file.read())
        targets = [target for target in targets if not re.match(r"[a-z]+:", target)]
        links += len(targets)
        wrong += [f"{path}: no file {target}" for target in targets
                  if not os.path.exists(os.path.join(os.path.dirname(path), target))]
    if links < 100:
        wrong.append(f"{top}: only {links} links")
    with gzip.open(f"{prefix}/share/man/man1/rocedrill.1.gz", "rt") as page:
        if "share/doc/rocedrill" not in page.read():
            wrong.append("the manual page rocedrill(1) does not name the folder of the documents")
    return wrong


def use_documents(place, prefix):
    """Reads the installed manual pages with mandoc's lint, and completes words in bash, fish and zsh. Returns errors."""
    wrong = broken_links(prefix)
    for name in PAGES:
        path = f"{prefix}/share/man/man1/{name}.1.gz"
        if not os.path.isfile(path):
            wrong.append(f"{path}: not installed")
            continue
        with gzip.open(path) as page:
            said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page.read(), capture_output=True)
        if said.returncode:
            wrong.append(f"{path}: {said.stdout.decode()}")
    for words, expected in COMPLETED:
        script = f"""source {prefix}/share/bash-completion/completions/{words[0]}
            COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
            _{words[0].replace("-", "_")}
            echo "${{COMPREPLY[@]}}" """
        found = run(["bash", "-c", script]).strip()
        if found != expected:
            wrong.append(f"completions of {words}: {found}, expected {expected}")
        fish = f"{prefix}/share/fish/vendor_completions.d/{words[0]}.fish"
        listed = run(["fish", "--no-config", "-c", f"source {fish}; complete -C '{' '.join(words)}'"], cwd=prefix)
        # fish 4.0 also lists "--jobs" for "--js", which its key Tab does not insert: the letters have this order.
        found = [row.split("\t")[0] for row in listed.splitlines()]
        if expected and [word for word in found if word.startswith(words[-1])] != expected.split():
            wrong.append(f"completions of {words} in fish: {listed}, expected {expected}")
        line = zsh_completes(place, f"{prefix}/share/zsh/vendor-completions", " ".join(words))
        if expected and line != " ".join(words[:-1] + [expected, ""]):
            wrong.append(f"completions of {words} in zsh: {line}, expected {expected}")
    return wrong


def use_library(place, prefix):
    """Builds the example with the unpacked library, shared and static, each header alone, and the inline functions of all
    headers. Returns errors."""
    wrong = []
    library = glob.glob(prefix + "/lib/**/librnic.so.0", recursive=True)
    if not library:
        return ["librnic-dev: no librnic.so.0"]
    folder = os.path.dirname(library[0])
    symbols = run(["nm", "-D", "--defined-only", library[0]]).splitlines()
    other = [line for line in symbols if not line.endswith("@@LIBRNIC_0") and not line.endswith(" A LIBRNIC_0")]
    if other or not any(" rnic_new@@LIBRNIC_0" in line for line in symbols):
        wrong.append(f"librnic.so.0: symbols without a version, or none: {other[:5]}")
    for header in files_below(prefix + "/include/librnic"):
        with open(os.path.join(prefix, "include/librnic", header), encoding="utf-8") as source:
            tables = re.findall(r"^extern const .*[ *]((?:roce|rnic)_\w+)\[", source.read(), re.MULTILINE)
        wrong += [f"librnic.so.0: {name} of {header} is not exported, but inline functions use it"
                  for name in tables if not any(line.endswith(f" {name}@@LIBRNIC_0") for line in symbols)]
    env = {"PKG_CONFIG_PATH": folder + "/pkgconfig"}
    shared = place.run_as_user(["pkg-config", "--cflags", "--libs", "librnic"], **env).split()
    static = place.run_as_user(["pkg-config", "--static", "--cflags", "--libs", "librnic"], **env).split()
    static = ["-l:librnic.a" if word == "-lrnic" else word for word in static]
    example = prefix + "/share/doc/librnic-dev/examples/example.c"
    printed = set()
    for name, flags in (("shared", shared), ("static", static)):
        program = os.path.join(place.dir, name)
        place.run_as_user(["cc", "-Wall", "-Wextra", "-Werror", example, "-o", program] + flags)
        printed.add(place.run_as_user([program], LD_LIBRARY_PATH=folder if name == "shared" else ""))
    with open(example, encoding="utf-8") as source:
        if sum(1 for _ in source) > 60:
            wrong.append("the example of librnic-dev has more than 60 lines")
    if printed != {"frame 1: RC SEND Only to QP 0x000011\n"
                   "frame 2: aeth.syndrome: the responder was not ready (RNR NAK): usually no receive buffer was posted\n"
                   "frame 2: RC Acknowledge to QP 0x000022\n"}:
        wrong.append(f"the example of librnic-dev prints {printed}")
    include = prefix + "/include/librnic"
    headers = [header for header in files_below(include) if header.endswith(".h") and header not in PARTS]
    for header in headers:
        place.run_as_user(["cc", "-fsyntax-only", "-I" + include, "-x", "c", os.path.join(include, header)])
    source = os.path.join(place.dir, "all.c")  # all inline functions of the headers, also the unused ones
    with open(source, "w", encoding="utf-8") as out:
        out.write("".join(f'#include "{header}"\n' for header in headers) + "int main(void) { return 0; }\n")
    place.run_as_user(["cc", "-fkeep-static-functions", "-w", source, "-o", source[:-2]] + shared)
    return wrong


def expect_plugin(place, wrong, where):
    if place.decoded() == 0:
        wrong.append(f"tshark does not load the plugin that {where} installed")


def owner_of_build(place):
    """Returns the prefix of commands of an ordinary user who owns the build folder. For root, this user is nobody, who gets
    an overlay of the folder, without the manifests of earlier installations, and may read below the folders of root."""
    if os.getuid() != 0:
        return []
    for name in ("upper", "work"):
        os.mkdir(os.path.join(place.dir, name))
        os.chown(os.path.join(place.dir, name), 65534, 65534)
    overlay = ["unshare", "-m", "sh", "-ec", 'mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$1"\n'
               'cd "$1"\nshift 2\nexec "$@"', "sh", place.build, place.dir]
    run(overlay + ["sh", "-ec", "rm -f install_manifest*.txt; chown 65534:65534 .ninja_*"])
    return overlay + NOBODY + ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


def check_prefix(place):
    wrong = []
    place.give_to_user()
    earlier = {}
    if os.getuid() != 0:
        for path in glob.glob(os.path.join(place.build, "install_manifest*.txt")):
            earlier[path] = os.path.join(place.dir, os.path.basename(path))
            shutil.move(path, earlier[path])
    try:
        wrong += install_and_uninstall(place, owner_of_build(place))
    finally:
        for path, saved in earlier.items():
            shutil.move(saved, path)
    return wrong


def install_and_uninstall(place, user):
    wrong = []
    run(user + ["cmake", "--install", place.build, "--prefix", os.path.join(place.home, ".local")], env=dict(place.env))
    owners = {os.lstat(os.path.join(at, name)).st_uid for at, _, names in os.walk(place.home) for name in names}
    if owners != {65534 if os.getuid() == 0 else os.getuid()}:
        wrong.append(f"the installed files belong to the users {owners}")
    if place.decoded() == 0:
        wrong.append("tshark does not load the plugin from the user's folder")
    wrong += use_programs(place, os.path.join(place.home, ".local"))
    profile = os.path.join(place.home, ".config/wireshark/profiles/RoCE/colorfilters")
    if not os.path.isfile(profile):
        wrong.append(f"{profile}: not installed")
    run(user + ["cmake", "--build", place.build, "--target", "uninstall"], env=dict(place.env))
    left = [path for path in files_below(place.home) if ".cache" not in path and "recent" not in path]
    if left:
        wrong.append(f"left after uninstall: {' '.join(left)}")
    return wrong


def check_own_prefix(place):
    wrong = []
    plugins = run(["pkg-config", "--variable=plugindir", "wireshark"]).strip()
    wireshark = run(["pkg-config", "--variable=prefix", "wireshark"]).strip()
    stage = os.path.join(place.dir, "stage")
    for manifest in glob.glob(os.path.join(place.build, "install_manifest*.txt")):  # of earlier installations
        os.remove(manifest)
    for prefix in ("/opt/tree", os.path.join(place.home, "tree")):
        said = run(["cmake", "--install", place.build, "--prefix", prefix], env=dict(place.env, DESTDIR=stage))
        for manifest in glob.glob(os.path.join(place.build, "install_manifest*.txt")):
            with open(manifest, encoding="utf-8") as rows:
                wrong += [f"--prefix {prefix}: {row.strip()} is outside" for row in rows if not row.startswith(prefix + "/")]
            os.remove(manifest)
        if "to use the plugin, run plugin/install" not in said:
            wrong.append(f"--prefix {prefix}: no note that Wireshark does not read it: {said}")
        for path in (plugins + "/epan/roce.so", wireshark + "/share/wireshark/profiles/RoCE/colorfilters"):
            if not os.path.isfile(stage + prefix + path.removeprefix(wireshark)):
                wrong.append(f"{prefix}{path.removeprefix(wireshark)}: not installed")
    place.env["WIRESHARK_PLUGIN_DIR"] = os.path.dirname(stage + "/opt/tree" + plugins.removeprefix(wireshark))
    place.give_to_user()
    expect_plugin(place, wrong, "cmake --install with another prefix")
    return wrong


def extcap_folder():
    """Returns Wireshark's folder for extcaps: since 4.6 it is not next to that of the plugins."""
    return re.findall(r"^(?:Global )?Extcap path:\s+(/usr\S+)", run(["tshark", "-G", "folders"]), re.M)[-1]


def check_system(place):
    wrong = []
    plugins = run(["pkg-config", "--variable=plugindir", "wireshark"]).strip()
    run(["cmake", "--install", place.build, "--component", "plugin", "--prefix", "/usr"], env=dict(place.env, DESTDIR=place.dir))
    for path in (plugins + "/epan/roce.so", "/usr/share/wireshark/profiles/RoCE/colorfilters",
                 "/usr/share/wireshark/profiles/RoCE/preferences", "/usr/share/wireshark/profiles/RoCE/io_graphs",
                 extcap_folder() + "/rocedump"):
        if not os.path.isfile(place.dir + path):
            wrong.append(f"{path}: not installed")
    place.env["WIRESHARK_PLUGIN_DIR"] = os.path.dirname(place.dir + plugins)
    place.give_to_user()
    expect_plugin(place, wrong, "cmake --install with DESTDIR")
    return wrong


def check_plugin_script(place):
    """Runs the script from a folder with the built plugin, as tests/matrix plugins creates it. The folder also has
    files for other versions of Wireshark, which the script must not install."""
    wrong = []
    folder = os.path.join(place.dir, "plugin")
    shutil.copytree(os.path.join(place.build, "lib/wireshark/plugins"), folder)
    for script in ("install", "rocedump"):
        shutil.copy(os.path.join(place.source, "plugin", script), folder)
    shutil.copytree(os.path.join(place.source, "plugin/profile"), os.path.join(folder, "profile"))
    script = os.path.join(folder, "install")
    ours = os.listdir(os.path.join(place.build, "lib/wireshark/plugins"))
    for version in ("4.0", "4.2", "4.4", "4.6"):
        if version not in ours:
            os.makedirs(os.path.join(folder, version, "epan"))
            with open(os.path.join(folder, version, "epan", "roce.so"), "w", encoding="utf-8") as other:
                other.write("for another Wireshark")
    place.give_to_user()
    place.run_as_user([script, "--user"])
    expect_plugin(place, wrong, "plugin/install --user")
    plain = place.coloured()
    place.run_as_user([script, "--user", "--colours"])
    place.run_as_user([script, "--user", "--colours"])
    if plain == place.coloured():
        wrong.append("plugin/install --colours does not colour the default profile")
    with open(os.path.join(place.home, ".config/wireshark/colorfilters"), encoding="utf-8") as rules:
        names = [row.split("@")[1] for row in rules if row.startswith("@")]
    if len(set(names)) != len(names) or "Bad TCP" not in names or not names[0].startswith("RDMA: "):
        wrong.append(f"colours of the default profile: {names}")
    for version in ours:  # without the file for this Wireshark
        os.rename(os.path.join(folder, version), os.path.join(folder, "away"))
        said = subprocess.run(place.user + [script, "--user"], env=place.env, capture_output=True, text=True)
        if (said.returncode != 1 or f"no roce.so for Wireshark {version}" not in said.stderr
                or not re.search("already loads /.*/roce.so; to replace it, build one: cmake", said.stderr)):
            wrong.append(f"plugin/install without a plugin for {version}: {said.returncode}: {said.stderr}")
        os.rename(os.path.join(folder, "away"), os.path.join(folder, version))
    place.run_as_user([script, "--user", "--remove"])
    left = [path for path in files_below(place.home) if "RoCE" in path or "roce" in path or "colorfilters" in path]
    if left or place.decoded():
        wrong.append(f"left after plugin/install --user --remove: {left}")
    plugins = run(["pkg-config", "--variable=plugindir", "wireshark"]).strip()
    covered = f"""set -e
        mkdir {place.dir}/own {place.dir}/profiles
        cp -R {plugins}/. {place.dir}/own
        mount -t tmpfs none {extcap_folder()}
        mount --bind {place.dir}/own {plugins}
        mount -t tmpfs none /usr/share/wireshark/profiles
        {script} --system
        mkdir {place.dir}/fake
        printf '#!/bin/sh\\n[ "${{2%%/roce.so}}" = "$2" ] || echo "wireshark-plugin-roce: $2"\\n' >{place.dir}/fake/dpkg
        chmod +x {place.dir}/fake/dpkg
        for option in --remove --system; do
            : >{plugins}/marker
            if PATH={place.dir}/fake:$PATH {script} --system $option 2>&1; then echo "changed files of a package"; exit 1; fi
            [ -z "$(find {plugins} -newer {plugins}/marker -name roce.so)" ]
        done
        tshark -G plugins 2>/dev/null | grep -q roce.so
        {script} --system --remove
        if tshark -G plugins 2>/dev/null | grep -q roce.so; then echo "still loaded"; exit 1; fi"""
    said = run(["unshare", "-m"] + ([] if os.getuid() == 0 else ["-r"]) + ["sh", "-c", covered])
    if "loads the plugin" not in said or said.count("roce.so belongs to the Debian package wireshark-plugin-roce: ") != 2:
        wrong.append(f"plugin/install --system: {said}")
    return wrong


def check_packages(place):
    wrong = []
    out = os.path.join(place.dir, "packages")
    run(["cpack", "--config", os.path.join(place.build, "CPackConfig.cmake"), "-B", out,
         "-D", f"CPACK_OUTPUT_FILE_PREFIX={out}"], cwd=place.dir)
    packages = sorted(glob.glob(out + "/*.deb"))
    names = [os.path.basename(path).split("_")[0] for path in packages]
    if names != ["librnic-dev", "rnic-run", "rocedrill", "wireshark-plugin-roce"]:
        wrong.append(f"packages: {names}")
    for name, path in zip(names, packages):
        unpacked = os.path.join(place.dir, "root")
        run(["dpkg-deb", "-x", path, unpacked])
        for file in ("copyright", "changelog.gz"):
            if not os.path.isfile(f"{unpacked}/usr/share/doc/{name}/{file}"):
                wrong.append(f"{name}: no {file}")
    # One run for all packages, because lintian needs seconds to start. Its output names the package of each error.
    said = subprocess.run(["lintian", "--fail-on", "error", "--tag-display-limit", "0", *packages],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if said.returncode:
        wrong.append(f"lintian: {said.stdout}{said.stderr}")
    place.env["WIRESHARK_PLUGIN_DIR"] = os.path.dirname(glob.glob(
        unpacked + "/usr/lib/*/wireshark/plugins/*/epan")[0].rsplit("/", 1)[0])
    shutil.rmtree(out)
    place.give_to_user()
    expect_plugin(place, wrong, "wireshark-plugin-roce")
    wrong += use_library(place, unpacked + "/usr")
    wrong += use_data(place, unpacked + "/usr")
    return wrong + use_documents(place, unpacked + "/usr") + use_programs(place, unpacked + "/usr")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("way", choices=["prefix", "own_prefix", "system", "plugin_script", "packages"])
    args.add_argument("--build", required=True)
    args.add_argument("--source", required=True)
    args = args.parse_args()
    with Place(args) as place:
        wrong = globals()["check_" + args.way](place)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
