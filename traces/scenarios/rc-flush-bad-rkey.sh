# FLUSH with a wrong R_Key: NAK 0x62
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended write=100 flush=100 flush=100,key=wrong,expect=remote-access
