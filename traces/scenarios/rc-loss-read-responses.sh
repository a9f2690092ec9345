# The third of eight READ responses is lost: the READ is repeated from the lost response on
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left ingress psn 0x10a && drive --timeout 14 write=8192 read=8192 read=100
