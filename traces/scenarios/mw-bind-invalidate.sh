# A type 2 memory window: bound, written and read, invalidated by its owner, then refused with NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive bind=4096,off=4096 write=1500,off=4096,key=mw read=1500,off=4096,key=mw fadd=3,off=6144,key=mw linv \
    write=100,off=4096,key=mw,expect=remote-access
