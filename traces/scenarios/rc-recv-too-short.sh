# SEND of 100 bytes into a receive buffer of 64 bytes: the responder sends a NAK (Linux: NAK 0x63; the specification requires 0x61)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=64 send=64 recv=64 send=100,expect=remote-operation,peer=local-qp-operation
