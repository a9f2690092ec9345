# ucmatose: two rdma_cm connections, SENDs of 100 bytes both ways
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ucmatose -b 192.0.2.2 -c 2 -C 4 && client ucmatose -s 192.0.2.2 -b 192.0.2.1 -c 2 -C 4
