" SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
" Vim syntax of RoCEdrill drills. ftdetect.vim selects it. Both are installed; without root: ~/.vim/syntax/drill.vim and
" ~/.vim/ftdetect/drill.vim.
if exists("b:current_syntax")
  finish
endif
setlocal iskeyword+=-
syntax match drillComment /#.*/
syntax match drillHead /^\s*\(purpose\|rules\|coverage\|needs\|role\|allow\|let\)\>/
syntax match drillObject /^\s*\(qp\|mr\|peer\|cq\|srq\|mw\|ah\|pd\|xrcd\)\>/
syntax match drillTime /^\s*\(+\w\+\(\~+\w\+\)\?\|\*\)/
syntax match drillTo /\s<\s/
syntax match drillFrom /\s>?\?\s/
syntax match drillOther /^\s*\(or\|else\)\>/
syntax match drillField /\<[a-z0-9]\+\.[a-z0-9_]\+\ze=/
syntax match drillNumber /[+-]\?\<\(0x\x\+\|\d\+\)\(ns\|us\|ms\|s\)\?\>/
syntax match drillVariant /\$\w\+/
syntax match drillRule /\[[^]]*\]/
syntax keyword drillOpcode SEND WRITE READ First Middle Last Only Request Response Acknowledge Atomic Compare Swap Fetch Add FLUSH CNP ATOMIC CM with Immediate Invalidate
syntax keyword drillItem PSN MSN ACK NAK RNR AckReq FECN BECN va rkey add original payload bad ICRC cut altered SRQ Q_Key
syntax keyword drillVerb recv post send write read cmp-swap fetch-add flush atomic-write bind local-inv store modify destroy arm attach detach listen connect accept reject establish disconnect fails
syntax keyword drillCheck comp no event notified notification check counter cm-event nothing acks through is known inconclusive gone
syntax keyword drillOption id len mtu timeout retry rnr-retry rnr-timer rd-atomic resources psn peer-psn peer-qpn pkey qkey tclass hop-limit depth sends recvs limit type iova key imm compare swap group port reason src-qp to-qpn access state level from to invalidate pd cq recv-cq srq xrcd mr ah solicited fence inline unsignaled zero-based invalidates fill data u64
highlight default link drillComment Comment
highlight default link drillHead PreProc
highlight default link drillObject Type
highlight default link drillTime Special
highlight default link drillTo Operator
highlight default link drillFrom Operator
highlight default link drillOther Conditional
highlight default link drillField Identifier
highlight default link drillNumber Number
highlight default link drillVariant Macro
highlight default link drillRule Tag
highlight default link drillOpcode Keyword
highlight default link drillItem Identifier
highlight default link drillVerb Statement
highlight default link drillCheck Statement
highlight default link drillOption Identifier
let b:current_syntax = "drill"
