# SEND with invalidate invalidates the memory window, the next WRITE through it gets NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive bind=4096,off=4096 write=100,off=4096,key=mw recv=64 send=10,inv,key=mw \
    write=100,off=4096,key=mw,expect=remote-access
