/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/path_text.h"

#include <inttypes.h>

/* Shortest delay that can explain a wait, ns. */
#define SLOW_NS UINT64_C(100000)
/* The text does not mention the delay of a direction if it is less than 1/FEW of the sum of the
 * delays of both directions. */
#define FEW 8u

struct path path_of(const struct two_points *points, const struct roce_conn_summary *sum,
                    unsigned side)
{
    const struct roce_endpoint_summary *mine = &sum->side[side], *its = &sum->side[!side];
    struct path path = {.my_addr = mine->addr, .its_addr = its->addr, .points = points};

    if (!points || mine->qpn == ROCE_QPN_UNKNOWN || its->qpn == ROCE_QPN_UNKNOWN)
        return path;
    path.mine = two_points_path(points, mine->addr, its->addr, its->qpn);
    path.its = two_points_path(points, its->addr, mine->addr, mine->qpn);
    if (!path.mine || !path.its || path.mine->compared + path.its->compared == 0)
        path.mine = path.its = NULL;
    return path;
}

bool path_loses_requests(const struct path *path)
{
    return path->mine && path->mine->lost + path->mine->damaged > 0;
}

bool path_loses_responses(const struct path *path)
{
    return path->its && path->its->lost + path->its->damaged > 0;
}

static uint64_t delay_of(const struct path *path)
{
    return path->mine && two_points_has_delays(path->points)
               ? path->mine->delay_max + path->its->delay_max
               : 0;
}

bool path_delays(const struct path *path, uint64_t wait)
{
    return delay_of(path) >= SLOW_NS && delay_of(path) >= wait / 2;
}

/* Appends how many packets of the endpoint `addr` were lost or damaged: `cnt` of `of` packets.
 * `what` is "lost" or "damaged". */
static void add_part(struct strbuf *t, const char **sep, uint64_t cnt, uint64_t of,
                     const uint8_t addr[16], const char *what)
{
    if (cnt == 0)
        return;
    strbuf_addf(t, "%s%" PRIu64 " of %" PRIu64 " packets of ", *sep, cnt, of);
    strbuf_add_addr(t, addr);
    strbuf_addf(t, cnt == 1 ? " was %s" : " were %s", what);
    *sep = ", ";
}

/* Appends the delay of the packets of an endpoint, unless it is less than 1/FEW of `all`, the sum
 * of the delays of both directions. */
static void add_delay(struct strbuf *t, const char **sep, const struct two_points_path *way,
                      const uint8_t addr[16], uint64_t all)
{
    if (way->compared == 0 || way->delay_max < all / FEW)
        return;
    strbuf_addf(t, "%spackets of ", *sep);
    strbuf_add_addr(t, addr);
    strbuf_addf(t, " needed up to ");
    strbuf_add_duration(t, way->delay_max);
    strbuf_addf(t, " (on average ");
    strbuf_add_duration(t, way->delay_sum / way->compared);
    strbuf_addf(t, ")");
    *sep = ", ";
}

void path_last_text(struct strbuf *t, const struct path *path, uint32_t frame)
{
    if (!two_points_passed(path->points, frame)) {
        path_text(t, path, false);
        return;
    }
    strbuf_addf(t, "the request in frame %u passed both capture points", frame);
    if (path->its->lost + path->its->damaged == 0)
        strbuf_addf(t, ", and no response was lost between them");
}

void path_text(struct strbuf *t, const struct path *path, bool slow)
{
    const struct two_points_path *mine = path->mine, *its = path->its;
    const char *sep = "";

    strbuf_addf(t, "between the two capture points, ");
    add_part(t, &sep, mine->lost, mine->packets, path->my_addr, "lost");
    add_part(t, &sep, its->lost, its->packets, path->its_addr, "lost");
    add_part(t, &sep, mine->damaged, mine->packets, path->my_addr, "damaged");
    add_part(t, &sep, its->damaged, its->packets, path->its_addr, "damaged");
    if (slow) {
        add_delay(t, &sep, mine, path->my_addr, delay_of(path));
        add_delay(t, &sep, its, path->its_addr, delay_of(path));
    }
    if (*sep) {
        strbuf_addf(t, "\n       check this part of the path for %s",
                    !slow ? "drops (full queues, a priority without PFC) or a bad link"
                    : path_loses_requests(path) || path_loses_responses(path)
                        ? "a full queue, a slow link or a bad link"
                        : "a full queue or a slow link");
        return;
    }
    strbuf_addf(t, "no packet of this connection was lost or damaged");
    if (delay_of(path)) {
        const uint64_t ns = mine->delay_max > its->delay_max ? mine->delay_max : its->delay_max;

        strbuf_addf(t, ", and none needed more than ");
        strbuf_add_duration(t, ns);
    }
}
