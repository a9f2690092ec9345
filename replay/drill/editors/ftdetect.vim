" SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
" Selects the syntax of RoCEdrill drills for files with the name *.drill.
autocmd BufRead,BufNewFile *.drill setfiletype drill
