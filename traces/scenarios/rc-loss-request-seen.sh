# A WRITE packet is lost after the capture point: it is in the capture, but the responder sends NAK 0x60 because it did not receive it
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right ingress psn 0x102 && drive --timeout 14 write=8192 read=8192
