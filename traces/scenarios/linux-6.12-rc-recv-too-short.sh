# Linux 6.12: SEND of 100 bytes into a receive buffer of 64 bytes (NAK 0x63; the specification requires 0x61)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive recv=64 send=64 recv=64 send=100,expect=remote-operation,peer=local-qp-operation
