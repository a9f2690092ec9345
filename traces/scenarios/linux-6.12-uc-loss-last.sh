# Linux 6.12: UC WRITEs with immediate, the last packet of one is lost (all later WRITEs are dropped, against the specification)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# release: trixie
drop left egress psn 0x103 && drive --type uc --lossy recv=0,count=4 write=1000,imm=1 write=3000,imm=2 write=2000,off=4096,imm=3 \
    write=100,off=8192,imm=4 recv=64,from=right send=10,from=right
