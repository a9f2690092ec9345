# Linux 6.12: every request arrives twice: SEND, WRITE, READ, FETCH_ADD, CMP_SWAP
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
netem left duplicate 100% && drive --timeout 14 recv=4096 send=3000 write=3000 read=3000 fadd=1,off=8192 cas=1:5,off=8192 recv=64 send=10
