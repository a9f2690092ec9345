# rdma_cm: REQ, REP, RTU, then DREQ, DREP, with private data and no traffic between
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --cm
