# One of several ACKs is lost, a later ACK covers it: no retransmission
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x103 && drive --timeout 14 write=100 write=1000,off=1024,count=1,nowait write=1000,off=2048,nowait \
    write=1000,off=3072,nowait write=1000,off=4096,nowait write=1000,off=5120,nowait wait
