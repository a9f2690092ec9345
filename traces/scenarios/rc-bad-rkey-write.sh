# WRITE with a wrong R_Key: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100 write=3000,off=4096,key=wrong,expect=remote-access
