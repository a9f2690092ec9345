# UD datagrams to the IPv6 multicast group ff0e::1234, which the receiver joins (MLD); one SEND back is unicast
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type ud --group ff0e::1234 --ip 2001:db8::1,2001:db8::2 recv=256 send=100 recv=1024 send=1000,imm=7 recv=256 send=0 \
    recv=64,from=right send=10,from=right
