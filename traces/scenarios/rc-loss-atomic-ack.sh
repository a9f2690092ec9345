# The responses of FETCH_ADD and CMP_SWAP are lost: retransmitted requests get the saved result and are not executed twice
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x101 && drop left ingress psn 0x102 &&
    drive --timeout 14 write=8 fadd=1,off=64 cas=1:10,off=64 fadd=5,off=64 read=8,off=64
