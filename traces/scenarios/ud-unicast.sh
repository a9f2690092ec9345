# UD SENDs over sizes, with and without immediate data, in both directions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type ud recv=64 send=0 recv=64 send=1 recv=1024 send=1023 recv=1024 send=1024 recv=256 send=200,imm=0xabcd \
    recv=256 send=100,solicited recv=1024,from=right send=512,from=right
