# RC packets with DSCP 26 in the IP header: the requester's and the responder's
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --tclass 104 write=2000 recv=64 send=10 read=2000
