# UC, then UD over IPv6
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --ip 2001:db8::1,2001:db8::2 --type uc recv=4096 send=3000 write=2000 recv=64,from=right send=10,from=right &&
    drive --ip 2001:db8::1,2001:db8::2 --type ud recv=256 send=100 recv=64,from=right send=10,from=right
