# UC SEND and WRITE over sizes, with and without immediate data: no acknowledgement; both directions
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --type uc recv=64 send=0 recv=64 send=1 recv=4096 send=1025 recv=4096 send=4096,imm=1 \
    write=0 write=1 write=3000,off=4096 recv=0 write=2000,off=8192,imm=2 recv=4096,from=right send=3000,from=right \
    write=1500,from=right
