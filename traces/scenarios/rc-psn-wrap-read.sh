# The PSN wraps among the responses of an RC READ of 8 packets
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --psn 0xfffff4 write=8192 read=8192 read=100
