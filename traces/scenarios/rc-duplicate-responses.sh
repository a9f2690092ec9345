# Every ACK, READ response and atomic response arrives twice
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem right duplicate 100% && drive --timeout 14 recv=4096 send=3000 write=3000 read=3000 fadd=1,off=8192 cas=1:5,off=8192 recv=64 send=10
