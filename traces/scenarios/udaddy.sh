# udaddy: SIDR_REQ and SIDR_REP, then UD datagrams both ways
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve udaddy -b 192.0.2.2 -c 1 -C 4 && client udaddy -s 192.0.2.2 -b 192.0.2.1 -c 1 -C 4
