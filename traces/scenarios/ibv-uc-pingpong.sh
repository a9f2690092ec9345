# ibv_uc_pingpong: UC SENDs of 4096 bytes in both directions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
serve ibv_uc_pingpong -g 1 -n 4 && client ibv_uc_pingpong -g 1 -n 4 198.51.100.2
