# RC SEND without a receive and rnr_retry 2: three RNR NAKs, the requester gives up
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --min-rnr 14 --rnr-retry 2 recv=64 send=10 send=100,expect=rnr-retry-exceeded,peer=none
