# Linux 6.12: WRITE that leaves the memory window but not the region behind it (executed, against the specification)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive bind=4096,off=4096 write=4096,off=4096,key=mw write=200,off=8100,key=mw,expect=success
