# WRITE that leaves the memory window but not the region behind it (Linux 6.1 executes it, against the specification)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive bind=4096,off=4096 write=4096,off=4096,key=mw write=200,off=8100,key=mw,expect=success
