# Every fifth request packet overtakes four others: NAK 0x60 and go-back-N without loss
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem left delay 5ms reorder 100% gap 5 && drive --timeout 14 write=16384 recv=4096 send=4096 read=4096
