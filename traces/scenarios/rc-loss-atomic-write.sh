# The response of an ATOMIC WRITE is lost and the request is retransmitted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drop left ingress psn 0x101 && drive --timeout 14 --extended --retry 3 write=100 atomic-write=8,off=256 read=8,off=256
