# Path MTU 512: SEND, WRITE and READ of MTU-1, MTU, MTU+1 and several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --mtu 512 recv=512 send=511 recv=512 send=512 recv=1024 send=513 recv=2560 send=2051 \
    write=511 write=512,off=8192 write=513,off=16384 write=2051,off=32768 \
    read=511 read=512,off=8192 read=513,off=16384 read=2051,off=32768
