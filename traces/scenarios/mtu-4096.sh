# Path MTU 4096: SEND, WRITE and READ of MTU-1, MTU, MTU+1 and several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# link-mtu: 4500
drive --mtu 4096 recv=4096 send=4095 recv=4096 send=4096 recv=8192 send=4097 recv=20480 send=16387 \
    write=4095 write=4096,off=8192 write=4097,off=16384 write=16387,off=32768 \
    read=4095 read=4096,off=8192 read=4097,off=16384 read=16387,off=32768
