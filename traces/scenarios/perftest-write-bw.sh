# ib_write_bw: five WRITEs of 8192 bytes
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ib_write_bw -d rxe0 -x 1 -F -n 5 -s 8192 && client ib_write_bw -d rxe0 -x 1 -F -n 5 -s 8192 198.51.100.2
