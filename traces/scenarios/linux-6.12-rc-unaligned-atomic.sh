# Linux 6.12: FETCH_ADD on an address that is not a multiple of 8: NAK 0x61
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended write=64 fadd=1,off=8 fadd=1,off=4,expect=remote-invalid-request
