# RC SEND of 0, 1, 3, MTU-1, MTU, MTU+1, 4 MTU and 64 KiB at path MTU 1024
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=64 send=0 recv=64 send=1 recv=64 send=3 recv=1024 send=1023 recv=1024 send=1024 \
    recv=2048 send=1025 recv=4096 send=4096 recv=65536 send=65536
