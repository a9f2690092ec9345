# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# shellcheck shell=bash
# Updates manifest.tsv (the provenance of every capture) and the table of README.md.
# Sourced by traces/record.

manifest_columns=$'file\tpeer\tshows\tkernel\tcommand\tuserland\tframes\treplay'

# manifest_set FILE PEER SHOWS KERNEL COMMAND USERLAND FRAMES: replaces the row of FILE. An
# existing row keeps the expected result of its replay (`rocedrill replay FOLDER`); a new row gets "PASS".
manifest_set() {
    local manifest=$out/../manifest.tsv row replay
    [ "$out" = "$here/captures" ] || manifest=$out/manifest.tsv
    replay=$(awk -F '\t' -v file="$1" '$1 == file { print $8 }' "$manifest" 2>/dev/null)
    row=$(printf '%s\t' "$@" "${replay:-PASS}")
    [ -e "$manifest" ] || echo "$manifest_columns" >"$manifest"
    {
        echo "$manifest_columns"
        {
            awk -F '\t' -v file="$1" 'NR > 1 && $1 != file' "$manifest"
            echo "${row%$'\t'}"
        } | LC_ALL=C sort
    } >"$manifest.new"
    mv "$manifest.new" "$manifest"
    [ "$out" != "$here/captures" ] || readme_write
}

# Replaces the text between the two marks of README.md.
readme_write() {
    local table
    table=$(awk -F '\t' '
        function cell(s) { gsub(/\|/, "\\|", s); return s }
        NR == 1 { print "| file | shows | commands | kernel | user space | peer | frames |"
              print "|---|---|---|---|---|---|---|"; next }
        { printf "| [%s](captures/%s) | %s | `%s` | %s | %s | %s | %s |\n",
            $1, $1, cell($3), cell($5), $4, $6, $2, $7 }' "$here/manifest.tsv")
    table=$table awk '
        /^<!-- table:/ { print; print ""; print ENVIRON["table"]; print ""; skip = 1; next }
        /^<!-- end/ { skip = 0 }
        !skip' "$here/README.md" >"$here/README.md.new" && mv "$here/README.md.new" "$here/README.md"
}
