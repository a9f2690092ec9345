# FLUSH with global visibility, of a range and of a whole region, each after a WRITE (Linux 6.12 gives every FLUSH a wrong ICRC)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drive --extended write=3000 flush=3000 write=2000,off=8192 flush=0,whole flush=100,off=8192 read=3000
