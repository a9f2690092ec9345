# A request lost just after the PSN wrapped: NAK 0x60 and go-back-N across the wrap
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0 && drive --timeout 14 --psn 0xfffffd write=8192 read=8192
