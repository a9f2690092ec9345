# Three RC SENDs in flight without a receive: RNR NAK, NAK 0x60 for the next request, and the recovery
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --min-rnr 20 recv=64 send=10 send=100,nowait,count=3 sleep=60 recv=128,count=3 wait
