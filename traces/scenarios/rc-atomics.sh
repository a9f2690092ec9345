# RC FETCH_ADD and CMP_SWAP, the latter with and without a match, and a READ of the result
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=8,off=64 read=8,off=64 fadd=1,off=0 fadd=0xffffffffffffffff,off=0 fadd=0x0123456789abcdef,off=0 \
    cas=0x0123456789abcdef:0x1111222233334444,off=0 cas=7:8,off=0 cas=0:9,off=8 read=16,off=0
