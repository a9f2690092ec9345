# READ of a region registered for remote writes only: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100,key=writeonly read=100,key=writeonly,expect=remote-access
