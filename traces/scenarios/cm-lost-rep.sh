# rdma_cm: the REP is lost and retransmitted after the CM's timeout
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress attribute 0x0013 && drive --cm recv=64 send=10
