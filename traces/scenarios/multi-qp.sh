# Four RC connections between the same hosts at once: SEND, WRITE, READ and atomics mixed
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --qps 4 recv=4096,qp=0 recv=4096,qp=1 recv=4096,qp=2 recv=4096,qp=3 \
    write=4096,qp=0,nowait send=3000,qp=1,nowait write=2048,off=8192,qp=2,nowait send=2000,qp=3,nowait \
    read=4096,qp=0,nowait write=3000,off=12288,qp=1,nowait send=1000,qp=2,nowait fadd=1,off=32768,qp=3,nowait \
    send=500,qp=0,nowait read=3000,off=12288,qp=1,nowait read=2048,off=8192,qp=2,nowait cas=1:2,off=32768,qp=3,nowait wait
