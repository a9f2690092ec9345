# RC requests with and without the solicited event bit: SEND, SEND with immediate, WRITE with immediate
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=64 send=10 recv=64 send=20,solicited recv=4096 send=3000,solicited \
    recv=64 send=30,imm=7,solicited recv=0 write=100,imm=8,solicited recv=0 write=3000,imm=9,solicited
