# An ACK is lost before the capture point: the requester retransmits, the capture has one ACK for two transmissions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right egress psn 0x100 && drive --timeout 14 write=100 write=200
