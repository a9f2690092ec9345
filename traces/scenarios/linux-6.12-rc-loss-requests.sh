# Linux 6.12: random loss of 6 % of what the requester sends
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
netem left loss 6% && drive --timeout 14 recv=8192,count=4 send=8192,count=4 write=16384 read=16384 write=8192,off=65536 \
    read=8192,off=65536 write=8192,off=16384,count=8
