# The responder's QP was destroyed: four transmissions, then the requester gives up (retry_cnt 3, timeout 67 ms)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --timeout 14 --retry 3 recv=64 send=10 destroy send=100,expect=retry-exceeded,peer=none
