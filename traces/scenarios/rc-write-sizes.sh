# RC WRITE of 0, 1, 3, MTU-1, MTU, MTU+1, 4 MTU and 64 KiB at path MTU 1024
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=0 write=1 write=3,off=16 write=1023,off=1024 write=1024,off=3072 write=1025,off=5000 \
    write=4096,off=8192 write=65536,off=65536
