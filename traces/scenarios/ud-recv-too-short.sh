# A UD datagram larger than the receive buffer, then one that fits (Linux 6.1 stops the QP, against the specification)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type ud --lossy recv=256 send=200 recv=64,from=right send=10,from=right recv=64 send=200,peer=any recv=256 send=50,peer=any
