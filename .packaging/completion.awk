# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# Writes a completion file for bash, zsh or fish from the --help texts of a program and its commands.
#
#   awk -f completion.awk -v shell=bash
#
# Input: a line "@ PROGRAM" or "@ PROGRAM COMMAND" before each help text.
function quoted(text) { gsub(/'/, "", text); gsub(/[][]/, "", text); gsub(/:/, " -", text); return text }
$1 == "@" { program = $2; command = $3; if (command) commands[++command_cnt] = command; next }
/^  (-[^-], |    )?--[a-z]/ {
    row = $0
    sub(/^ +/, "", row)
    text = match(row, /  +/) ? substr(row, RSTART + RLENGTH) : ""
    if (RSTART > 0) row = substr(row, 1, RSTART - 1)
    letter = match(row, /^-[^-]/) ? substr(row, 2, 1) : ""
    match(row, /--[a-z0-9-]+/)
    name = substr(row, RSTART + 2, RLENGTH - 2)
    argument = substr(row, RSTART + RLENGTH)
    if ((command, name) in seen) next # a second form of the option
    seen[command, name] = 1
    key = ++option_cnt
    of[key] = command; long[key] = name; short[key] = letter; arg[key] = argument != ""; about[key] = quoted(text)
    next
}
/^  [a-z]+ / && !command { word = $1; line = $0; sub(/^  [a-z]+ +/, "", line); words[++word_cnt] = word; tells[word] = quoted(line) }
function options_of(command,    i, list) {
    for (i = 1; i <= option_cnt; i++) if (of[i] == command) list = list " --" long[i]
    return substr(list, 2)
}
END {
    func_name = "_" program
    gsub(/-/, "_", func_name)
    for (i = 1; i <= word_cnt; i++) list = list " " words[i]
    list = substr(list, 2)
    if (shell == "bash") {
        print "# bash completion of " program "\n" func_name "()\n{"
        print "    local cur=${COMP_WORDS[COMP_CWORD]} words="
        if (word_cnt) print "    if [ \"$COMP_CWORD\" = 1 ]; then words=\"" list " " options_of("") "\"; else"
        print "    case ${COMP_WORDS[1]} in"
        for (i = 1; i <= command_cnt; i++) print "    " commands[i] ") words=\"" options_of(commands[i]) "\" ;;"
        print "    *) words=\"" options_of("") "\" ;;\n    esac"
        if (word_cnt) print "    fi"
        print "    COMPREPLY=()"
        print "    case $cur in -*) ;; *) [ \"$COMP_CWORD\" = 1 ] || return ;; esac"
        print "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}"
        print "complete -o bashdefault -o default -F " func_name " " program
    } else if (shell == "zsh") {
        print "#compdef " program
        if (word_cnt) {
            print "if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    local -a commands=("
            for (i = 1; i <= word_cnt; i++) print "        '" words[i] ":" tells[words[i]] "'"
            print "    )\n    _describe command commands\n    _files\n    return\nfi"
            print "local command=\nif (( CURRENT > 2 )); then\n    command=$words[2]\n    shift words\n    (( CURRENT-- ))\nfi"
        } else
            print "local command="
        print "case $command in"
        for (k = 1; k <= command_cnt + 1; k++) {
            c = k <= command_cnt ? commands[k] : ""
            print (c ? c : "*") ")\n    _arguments \\"
            for (i = 1; i <= option_cnt; i++)
                if (of[i] == c) {
                    tail = "[" about[i] "]" (arg[i] ? ":argument:_files" : "") "' \\"
                    print "        '--" long[i] tail
                    if (short[i]) print "        '-" short[i] tail
                }
            print "        '*:file:_files'\n    ;;"
        }
        print "esac"
    } else {
        print "# fish completion of " program
        for (i = 1; i <= word_cnt; i++)
            print "complete -c " program " -n __fish_use_subcommand -a " words[i] " -d '" tells[words[i]] "'"
        for (i = 1; i <= option_cnt; i++)
            print "complete -c " program (of[i] ? " -n '__fish_seen_subcommand_from " of[i] "'" : "") \
                (short[i] ? " -s " short[i] : "") " -l " long[i] (arg[i] ? " -r" : "") " -d '" about[i] "'"
    }
}
