# UC SENDs, the last packet of one is lost (Linux loses the next message too, against the specification)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drop left egress psn 0x103 && drive --type uc --lossy recv=4096,count=4 send=1000 send=3000 send=2000 send=100 \
    recv=64,from=right send=10,from=right
