# The last READ response is lost: the READ is repeated for its last packet
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x10f && drive --timeout 14 write=8192 read=8192 read=100
