# Path MTU 1024: SEND, WRITE and READ of MTU-1, MTU, MTU+1 and several packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --mtu 1024 recv=1024 send=1023 recv=1024 send=1024 recv=2048 send=1025 recv=5120 send=4099 \
    write=1023 write=1024,off=8192 write=1025,off=16384 write=4099,off=32768 \
    read=1023 read=1024,off=8192 read=1025,off=16384 read=4099,off=32768
