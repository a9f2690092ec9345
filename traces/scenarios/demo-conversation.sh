# A complete conversation: connect by rdma_cm, SEND, WRITE, READ it back, FETCH_ADD, CMP_SWAP, immediate data, disconnect
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --cm recv=256 send=100 write=4000 read=4000 \
    fadd=5,off=8192 fadd=7,off=8192 cas=12:99,off=8192 read=8,off=8192 \
    recv=2048 send=2000,imm=0xcafe recv=0 write=3000,off=16384,imm=0xf00d read=3000,off=16384
