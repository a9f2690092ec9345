# rdma_cm: the RTU is lost (the capture point is before the loss): REP and RTU are retransmitted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right ingress attribute 0x0014 && drive --cm recv=64 send=10
