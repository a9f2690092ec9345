# RC packets sent as ECN-capable, some marked CE (Congestion Experienced) by the network; Linux sends no CNP
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem left loss 30% ecn && drive --tclass 2 write=16384 recv=4096 send=4096 read=2048
