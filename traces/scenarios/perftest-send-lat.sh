# ib_send_lat: SENDs of 64 bytes in both directions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ib_send_lat -d rxe0 -x 1 -F -n 5 -s 64 && client ib_send_lat -d rxe0 -x 1 -F -n 5 -s 64 198.51.100.2
