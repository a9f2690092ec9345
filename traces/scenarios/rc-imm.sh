# RC SEND and WRITE with immediate data: of 0 bytes, of one packet, of several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=64 send=0,imm=1 recv=128 send=100,imm=0x12345678 recv=4096 send=3000,imm=0xffffffff \
    recv=0 write=0,imm=4 recv=0 write=100,imm=0x89abcdef recv=0 write=3000,off=4096,imm=6
