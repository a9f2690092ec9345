# FETCH_ADD with a wrong R_Key: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100 fadd=1,key=wrong,expect=remote-access
