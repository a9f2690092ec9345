# Both sides are requesters on one connection at the same time
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=4096,from=right recv=4096 send=3000,nowait send=2500,from=right,nowait write=5000,nowait \
    write=6000,from=right,nowait read=2000,nowait read=2200,from=right,nowait fadd=1,off=16384,nowait \
    fadd=1,off=16384,from=right,nowait wait
