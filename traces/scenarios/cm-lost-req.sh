# rdma_cm: the first REQ is lost and retransmitted after the CM's timeout (the capture point is before the loss)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right ingress attribute 0x0010 && drive --cm recv=64 send=10
