# A WRITE packet is lost after the point of capture: it is in the capture, the responder's NAK 0x60 says it did not get it
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop right ingress psn 0x102 && drive --timeout 14 write=8192 read=8192
