# FLUSH of a region that does not permit it: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended write=100,key=writeonly flush=100,key=writeonly,expect=remote-access
