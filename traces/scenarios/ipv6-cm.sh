# rdma_cm over IPv6: connect, SEND, WRITE, disconnect
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --ip 2001:db8::1,2001:db8::2 --cm recv=64 send=10 write=2000
