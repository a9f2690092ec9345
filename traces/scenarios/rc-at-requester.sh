# SEND, WRITE, READ and atomics under loss, recorded at the requester
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# capture-at: left
netem left loss 4% && netem right loss 4% &&
    drive --timeout 14 recv=16384 send=16384 write=16384 read=16384 fadd=1,off=65536,count=5 cas=5:9,off=65536 recv=64,count=5 send=64,count=5
