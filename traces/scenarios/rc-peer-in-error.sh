# The responder's QP is in the error state: it answers nothing, the requester gives up
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --timeout 14 --retry 2 recv=64 send=10 error write=100,expect=retry-exceeded
