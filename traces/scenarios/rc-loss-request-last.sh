# The last packet of a SEND is lost: no NAK, the requester retransmits it after a timeout
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0x103 && drive --timeout 14 recv=4096 send=4000 recv=64 send=10
