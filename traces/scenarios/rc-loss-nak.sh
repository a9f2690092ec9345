# A request is lost, and its NAK 0x60 too: the requester recovers by timeout
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0x103 && drop left ingress psn 0x103 && drive --timeout 14 write=8192 read=8192
