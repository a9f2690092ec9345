# A WRITE with a wrong R_Key with others queued behind it: NAK 0x62, the rest of the queue is flushed
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100 write=100,key=wrong,nowait,expect=remote-access write=100,off=256,nowait,expect=flushed \
    write=100,off=512,nowait,expect=flushed wait
