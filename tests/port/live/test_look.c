/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* How a program that polls looks for frames, on a port that tells what it is told to. */
#include "port/live/live.h"
#include "port/frameio/port_mem.h"
#include "port/wrap.h"
#include "support/suite.h"

/* A port that says what `says` has for its looks, the last for ever, and counts. */
struct told {
    struct wrap wrap;
    const int *says;
    unsigned looks, taken;
};

static int told_peek(const struct rnic_port *port)
{
    struct told *told = (struct told *)(uintptr_t)port;

    told->looks++;
    return told->says[1] == 9 ? *told->says : *told->says++;
}

static int told_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    struct told *told = (struct told *)port;

    told->taken++;
    return rnic_port_recv(told->wrap.behind, max, fn, user, now);
}

/* Who polls looks for a frame up to 16 times, no longer than until one waits or the port cannot
 * tell, and then asks the port in any case: it sees to more than frames. */
static void looks(void)
{
    static const struct {
        int says[6]; /* 9: the one before, for ever */
        unsigned looks;
    } rows[] = {{{0, 9}, 16}, {{1, 9}, 1}, {{-1, 9}, 1}, {{0, 0, 0, 1, 9}, 4}, {{0, -1, 9}, 2}};
    struct rnic_iface iface = {.mac = {2, 0, 0, 0, 0, 1},
                               .path_mtu = 1024,
                               .gid = {{.gid = {0xfd, [15] = 1}, .type = RNIC_GID_ROCE_V2}},
                               .gid_cnt = 1};
    struct rnic_live_attr attr = {.seed = 1};
    struct told told = {.says = rows[0].says};
    struct rnic_port *pair[2];
    struct rnic_live *live;
    struct error why;

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    wrap_port(&told.wrap, pair[0]);
    told.wrap.ops.recv = told_recv;
    told.wrap.ops.peek = told_peek;
    CU_ASSERT_FATAL(rnic_live_open_port(&attr, &iface, &told.wrap.port, &live, &why) == 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rnic_live_lock(live); /* the loop's own thread does not look */
        told.says = rows[i].says;
        told.looks = told.taken = 0;
        CU_ASSERT(!rnic_live_drive(live));
        EXPECT_EQ(told.looks, rows[i].looks);
        EXPECT_EQ(told.taken, 1);
        rnic_live_unlock(live);
    }
    rnic_live_close(live);
    rnic_port_close(pair[1]);
}

SUITE("port.look", TEST(looks))
