# rdma_cm: the RTU is lost (recorded before it is lost): REP and RTU are repeated
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right ingress attribute 0x0014 && drive --cm recv=64 send=10
