# ATOMIC WRITE of 8 bytes, then READs of them
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended atomic-write=8,off=64 read=8,off=64 atomic-write=8,off=128 atomic-write=8,off=64 read=72,off=64
