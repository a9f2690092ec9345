# A READ request is lost, the next request causes NAK 0x60 and both are retransmitted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0x104 && drive --timeout 14 write=4096 read=2048,nowait write=100,off=8192,nowait wait
