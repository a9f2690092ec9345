# WRITE beyond the end of the memory region: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100,off=262044 write=200,off=262044,expect=remote-access
