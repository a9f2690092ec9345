# Path MTU 4096: SEND, WRITE and READ of 64 KiB, 16 packets each
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# link-mtu: 4500
drive --mtu 4096 recv=65536 send=65536 write=65536 read=65536
