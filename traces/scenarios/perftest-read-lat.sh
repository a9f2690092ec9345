# ib_read_lat: READs of 2048 bytes
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ib_read_lat -d rxe0 -x 1 -F -n 5 -s 2048 && client ib_read_lat -d rxe0 -x 1 -F -n 5 -s 2048 198.51.100.2
