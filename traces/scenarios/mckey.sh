# mckey: a multicast group joined through rdma_cm, UD datagrams to it
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve mckey -b 192.0.2.2 -m 239.1.2.3 -C 4 && client mckey -s -b 192.0.2.1 -m 239.1.2.3 -C 4
