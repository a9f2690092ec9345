# RC READ of 0, 1, 3, MTU-1, MTU, MTU+1, 4 MTU and 64 KiB at path MTU 1024, of bytes written before
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=65536 read=0 read=1 read=3,off=16 read=1023,off=1024 read=1024,off=3072 read=1025,off=5000 \
    read=4096,off=8192 read=65536
