# WRITE to a region registered for remote reads only: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=100 read=100,key=readonly write=100,key=readonly,expect=remote-access
