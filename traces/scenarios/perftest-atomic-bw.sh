# ib_atomic_bw: several FETCH_ADDs
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ib_atomic_bw -d rxe0 -x 1 -F -n 10 -A FETCH_AND_ADD && client ib_atomic_bw -d rxe0 -x 1 -F -n 10 -A FETCH_AND_ADD 198.51.100.2
