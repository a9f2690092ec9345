# ATOMIC WRITE to an address that is not a multiple of 8: NAK 0x61
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended atomic-write=8,off=64 atomic-write=8,off=68,expect=remote-invalid-request
