# Two RC connections whose receives come from one shared receive queue
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --srq --qps 2 recv=2048,count=6 send=100,qp=0 send=200,qp=1 send=1500,qp=0,nowait send=1600,qp=1,nowait wait \
    send=10,qp=1,imm=1 send=20,qp=0,imm=2
