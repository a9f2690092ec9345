# The PSN wraps inside an RC WRITE of 8 packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --psn 0xfffffb write=100,off=9000 write=8192 write=100,off=10000 read=8192
