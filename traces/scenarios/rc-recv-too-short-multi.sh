# SEND of three packets into a receive buffer of one and a half packets: the middle packet gets a NAK
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=1024 send=1024 recv=1536 send=3000,expect=remote-operation,peer=local-qp-operation
