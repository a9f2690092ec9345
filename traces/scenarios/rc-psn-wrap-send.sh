# The PSN wraps inside an RC SEND: 0xfffffe, 0xffffff, 0x000000, 0x000001
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --psn 0xfffffd recv=64 send=10 recv=4096 send=4096 recv=64 send=20
