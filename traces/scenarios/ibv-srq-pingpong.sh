# ibv_srq_pingpong: 4 RC connections on one shared receive queue
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ibv_srq_pingpong -g 1 -q 4 -n 8 -s 2048 && client ibv_srq_pingpong -g 1 -q 4 -n 8 -s 2048 198.51.100.2
