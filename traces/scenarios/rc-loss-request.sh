# The third of eight WRITE packets is lost: NAK 0x60, go-back-N from the lost PSN
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0x102 && drive --timeout 14 write=8192 read=8192
