# rping: rdma_cm, SEND, READ, WRITE, three rounds of 100 bytes
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve rping -s -a 192.0.2.2 -C 3 -S 100 -V && client rping -c -a 192.0.2.2 -C 3 -S 100 -V
