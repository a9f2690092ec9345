# rdma_cm: the peer disappears after the connection is up: a SEND is retransmitted until retry_cnt is exhausted, the DREQ has no answer
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --cm-abandon --retry 2 recv=64 send=10 \
    'peer-sh=/usr/bin/tc qdisc add dev eth0 clsact; /usr/bin/tc filter add dev eth0 ingress protocol ip u32 match ip dport 4791 0xffff action trap' \
    send=100,expect=retry-exceeded,peer=any disconnect sleep=10000
