# ibv_ud_pingpong: UD SENDs of 1024 bytes in both directions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ibv_ud_pingpong -g 1 -n 4 -s 1024 && client ibv_ud_pingpong -g 1 -n 4 -s 1024 198.51.100.2
