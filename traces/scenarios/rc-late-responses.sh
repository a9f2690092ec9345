# The responses arrive 100 ms after the requests, later than the ACK timeout of 67 ms: the requester retransmits without need, and no packet is lost
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem right delay 100ms && drive --timeout 14 recv=64 send=10 write=3000 read=3000 fadd=1,off=8192
