# Random loss of 5 % in both directions over SEND, WRITE, READ and atomics
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem left loss 5% && netem right loss 5% &&
    drive --timeout 14 recv=32768 send=32768 write=32768 read=32768 fadd=1,off=65536,count=10 recv=64,count=10 send=64,count=10
