# RC SEND without a posted receive: RNR NAKs, then success once a receive is posted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --min-rnr 20 recv=64 send=10 send=100,nowait sleep=60 recv=128 wait
