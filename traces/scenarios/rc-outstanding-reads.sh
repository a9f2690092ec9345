# Six READs and two atomics queued at once with rd_atomic 4
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --rd-atomic 4 write=16384 read=4096,nowait read=2048,off=4096,nowait fadd=1,off=32768,nowait \
    read=1024,off=8192,nowait read=100,off=9216,nowait fadd=2,off=32768,nowait read=3000,off=10000,nowait \
    read=1,off=1,nowait wait
