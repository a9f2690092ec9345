# Path MTU 256: SEND, WRITE and READ of MTU-1, MTU, MTU+1 and several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --mtu 256 recv=256 send=255 recv=256 send=256 recv=512 send=257 recv=1280 send=1027 \
    write=255 write=256,off=8192 write=257,off=16384 write=1027,off=32768 \
    read=255 read=256,off=8192 read=257,off=16384 read=1027,off=32768
