# FETCH_ADD on a region registered for remote writes only: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100,key=writeonly fadd=1,key=writeonly,expect=remote-access
