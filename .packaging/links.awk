# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# Copies a document, with links that resolve where the document is installed: below share/doc/rocedrill, in the folder that
# it has in the sources. A link to a capture or drill leads to share/rocedrill. A link to another file that is not
# installed becomes text.
#
#   awk -v folder=replay/docs -v installed="README.md replay/docs/check.md ..." -f links.awk DOCUMENT
#
# `folder`: folder of the document, "." for the top; `installed`: the files in share/doc/rocedrill.
function resolve(target,    part, kept, cnt, i, path) { # path of a link's target in the sources
    cnt = split((folder == "." ? "" : folder "/") target, part, "/")
    kept = 0
    for (i = 1; i <= cnt; i++)
        if (part[i] == "..") kept--
        else if (part[i] != "" && part[i] != ".") part[++kept] = part[i]
    for (i = 1; i <= kept; i++) path = path (i > 1 ? "/" : "") part[i]
    return path
}
function translate(target,    path) { # the target where it is installed, or "" if it is not
    if (target ~ /^([a-z]+:|#)/) return target
    path = resolve(target)
    sub(/#.*/, "", path)
    if (path in is_installed) return target
    if (path ~ /^traces\/(captures\/.*\.pcap|manifest\.tsv)$/) return up "../../rocedrill/" path
    if (path ~ /^tests\/conformance\/[a-z0-9-]+\/.*\.drill$/) return up "../../rocedrill/" substr(path, 7)
    return ""
}
BEGIN {
    cnt = split(installed, files, " ")
    for (i = 1; i <= cnt; i++) is_installed[files[i]] = 1
    up = folder == "." ? "" : folder "/"
    gsub(/[^\/]+/, "..", up)
}
{
    rest = $0
    line = ""
    while (match(rest, /!?\[[^][]*\]\([^()[:space:]]*\)/)) {
        link = substr(rest, RSTART, RLENGTH)
        line = line substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + RLENGTH)
        at = index(link, "](")
        target = translate(substr(link, at + 2, length(link) - at - 2))
        text = link
        sub(/^!?\[/, "", text)
        sub(/\]\([^()]*\)$/, "", text)
        line = line (target == "" ? text : substr(link, 1, at + 1) target ")")
    }
    print line rest
}
