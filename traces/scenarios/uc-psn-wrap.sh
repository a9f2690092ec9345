# The PSN wraps inside a UC SEND and between WRITEs
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type uc --psn 0xfffffd recv=64 send=10 recv=4096 send=4096 write=2000 recv=64,from=right send=10,from=right
