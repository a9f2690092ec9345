# rstream: a socket over RDMA (rsockets), 64-byte transfers
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve rstream -b 192.0.2.2 -S 64 -I 2 -C 4 -T b && client rstream -s 192.0.2.2 -S 64 -I 2 -C 4 -T b
