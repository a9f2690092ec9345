# A shared receive queue is empty: RNR NAK on one of its connections until a receive is posted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --srq --qps 2 --min-rnr 20 recv=256 send=100,qp=0 send=200,qp=1,nowait sleep=60 recv=256 wait
