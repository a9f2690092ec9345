# One flipped bit in about every eighth request packet: dropped silently, recovered by NAK 0x60 or timeout
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem left corrupt 12% && drive --timeout 14 write=32768 recv=16384 send=16384 read=8192
