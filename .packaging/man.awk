# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# Writes a manual page (mdoc) from the --help text of a program, which the programs print from their tables of options.
#
#   PROGRAM --help | awk -f man.awk -v name=rocedrill-check -v about="check captures ..." -v date="November 22, 2026"
#
# The text has a usage line, a description, rows of options or commands, and more lines; "exit status:" begins the last.
# One sentence a line, at most 78 characters.
function plain(text,    lines, line, word, cnt, i) {
    gsub(/\\/, "\\e", text)
    cnt = split(text, word, / +/)
    for (i = 1; i <= cnt; i++) {
        if (line != "" && (length(line) + length(word[i]) > 77 || (line ~ /[a-z)]\.$/ && word[i] ~ /^[A-Z]/))) {
            lines = lines line "\n"
            line = ""
        }
        if (line == "" && word[i] ~ /^[.']/) word[i] = "\\&" word[i]
        line = line == "" ? word[i] : line " " word[i]
    }
    return lines line
}
function section(title) { if (list) print ".El"; list = 0; print ".Sh " title }
function begin_list() { if (!list) print ".Bl -tag -width Ds"; list = 1 }
function end_list() { if (list) print ".El"; list = 0 }
function print_files() {
    if (!files) return
    section("FILES")
    print ".Bl -tag -width Ds"
    print ".It Pa share/doc/rocedrill\nDocuments, below the prefix of the installation, which is\n.Pa /usr\nfor the Debian packages."
    print "Begin with\n.Pa README.md ."
    print ".It Pa share/rocedrill\nDrills and captures for trying, and a Visual Studio Code extension for drills."
    print ".El"
    files = 0
}
BEGIN {
    upper = toupper(name)
    print ".Dd " date "\n.Dt " upper " 1\n.Os\n.Sh NAME\n.Nm " name "\n.Nd " about
}
NR == 1 {
    sub(/^usage: */, "")
    print ".Sh SYNOPSIS\n.Bd -literal"
    print plain($0)
    usage = 1
    next
}
usage && /^       +[^ ]/ { sub(/^ +/, "    "); print plain($0); next } # a second usage line
usage { usage = 0; print ".Ed"; section("DESCRIPTION") }
/^options:$/ { section("OPTIONS"); next }
/^exit status:/ { print_files(); section("EXIT STATUS"); sub(/^exit status: */, ""); print plain($0); next }
/^  (-[^-], |    )?--[a-z]/ || /^  -[^-]/ {
    begin_list()
    row = $0
    sub(/^ +/, "", row)
    text = match(row, /  +/) ? substr(row, RSTART + RLENGTH) : ""
    if (RSTART > 0) row = substr(row, 1, RSTART - 1)
    line = ".It"
    cnt = split(row, word, /[ ,]+/)
    for (i = 1; i <= cnt; i++)
        if (word[i] ~ /^--/) {
            option = substr(word[i], 2)
            argument = ""
            if (match(option, /[=[]/)) { argument = substr(option, RSTART); option = substr(option, 1, RSTART - 1) }
            line = line (i > 1 ? " ," : "") " Fl " option (argument ? " Ns Ar " argument : "")
        } else if (word[i] ~ /^-/)
            line = line " Fl " substr(word[i], 2)
        else
            line = line " Ar " word[i]
    print line
    if (text) print plain(text)
    next
}
/^  [a-z]/ && match($0, /^  [a-z]+( \[[A-Z]+\])?  */) && RLENGTH > 3 && substr($0, RLENGTH - 1, 2) ~ / $/ {
    begin_list()
    row = substr($0, 1, RLENGTH)
    text = substr($0, RLENGTH + 1)
    gsub(/^ +| +$/, "", row)
    print ".It Cm " row
    print plain(text)
    next
}
list && /^          / { sub(/^ +/, ""); print plain($0); next } # an option's second line
/^$/ { next }
{ if (list) { end_list(); print ".Pp" } sub(/^ +/, ""); print plain($0) }
END {
    end_list()
    print_files()
    if (also) {
        print ".Sh SEE ALSO"
        cnt = split(also, word, " ")
        for (i = 1; i <= cnt; i++) print ".Xr " word[i] " 1" (i < cnt ? " ," : "")
    }
}
