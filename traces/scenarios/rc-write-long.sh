# One RC WRITE of 200 packets: the requester sets AckReq inside the message
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=204800
