# Path MTU 2048: SEND, WRITE and READ of MTU-1, MTU, MTU+1 and several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# link-mtu: 4500
drive --mtu 2048 recv=2048 send=2047 recv=2048 send=2048 recv=4096 send=2049 recv=10240 send=8195 \
    write=2047 write=2048,off=8192 write=2049,off=16384 write=8195,off=32768 \
    read=2047 read=2048,off=8192 read=2049,off=16384 read=8195,off=32768
