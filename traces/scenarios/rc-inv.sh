# RC SEND with invalidate, of 0 bytes, of one packet and of several, each invalidates the R_Key of a type 2 memory window
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive bind=4096 write=100,key=mw recv=64 send=0,inv,key=mw \
    bind=4096,off=4096 write=200,off=4096,key=mw recv=64 send=50,inv,key=mw \
    bind=4096,off=8192 write=300,off=8192,key=mw recv=4096 send=3000,inv,key=mw
