# RC over IPv6: SEND, WRITE, READ, atomics
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --ip 2001:db8::1,2001:db8::2 recv=64 send=10 recv=4096 send=3000,imm=3 write=5000 read=5000 fadd=1,off=8192 cas=1:7,off=8192
