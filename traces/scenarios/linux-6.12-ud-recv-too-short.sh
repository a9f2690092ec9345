# Linux 6.12: a UD datagram larger than the receive, then one that fits
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --type ud --lossy recv=256 send=200 recv=64,from=right send=10,from=right recv=64 send=200,peer=any recv=256 send=50,peer=any
