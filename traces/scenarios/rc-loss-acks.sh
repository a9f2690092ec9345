# The ACKs of a SEND, a WRITE and a zero-length WRITE are lost: the requester retransmits, the responder acknowledges the duplicates
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x100 && drop left ingress psn 0x103 && drop left ingress psn 0x104 &&
    drive --timeout 14 recv=64 send=10 write=3000 write=0 read=3000
