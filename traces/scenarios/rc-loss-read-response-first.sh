# The first READ response is lost: the whole READ is repeated
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x108 && drive --timeout 14 write=8192 read=8192 read=100
