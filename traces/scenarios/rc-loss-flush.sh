# The response of a FLUSH is lost and the FLUSH is retransmitted (Linux 6.12 never answers the retransmission)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drop left ingress psn 0x101 && drive --timeout 14 --extended --retry 3 write=100 flush=100,expect=any
