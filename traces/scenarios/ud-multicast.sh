# UD datagrams to the IPv4 multicast group 239.1.2.3, which the receiver joins (IGMP); one SEND back is unicast
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type ud --group 239.1.2.3 recv=256 send=100 recv=1024 send=1000,imm=7 recv=256 send=0 recv=64,from=right send=10,from=right
