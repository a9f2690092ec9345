/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/rate.h"

#include "flow/base/counters.h"

#define SECOND UINT64_C(1000000000)
/* An endpoint that sent no packet for this time (ns) is assumed to have nothing to send. */
#define IDLE_NS UINT64_C(10000000)
/* If the rate did not drop, a congestion episode ends after more than QUIET_WINS windows and at
 * least QUIET_NS (ns) without a CNP. */
#define QUIET_NS   UINT64_C(1000000)
#define QUIET_WINS 4u
/* The window that measures the rate before the first CNP may be shorter than other windows: at
 * least PART_NS (ns) and PART_LEAST packets. */
#define PART_NS    UINT64_C(10000)
#define PART_LEAST 8u
/* number of packets after which an endpoint gets a rate meter: most endpoints of a large capture
 * send fewer packets, so memory is saved */
#define FEW 4u

void roce_spread_add(struct roce_spread *s, uint64_t v)
{
    if (s->cnt == 0 || v < s->min)
        s->min = v;
    if (v > s->max)
        s->max = v;
    s->cnt++;
    s->sum += v;
}

/* Returns a rate in bytes per second. bytes * SECOND does not overflow, because a window has fewer
 * than 2^32 bytes. */
static uint64_t rate_of(uint64_t bytes, uint64_t ns)
{
    return ns ? bytes * SECOND / ns : 0;
}

/* Returns whether a rate is more than 20 % lower than `before`. Smaller variations are normal. */
static bool is_slow(uint64_t rate, uint64_t before)
{
    return rate < before - before / 5;
}

static bool is_back(uint64_t rate, uint64_t before)
{
    return rate >= before - before / 10;
}

/* Called for a CNP that `side` receives. Returns the rate at which `side` sent before this CNP, in
 * bytes per second; 0 if unknown. */
static uint64_t rate_now(const struct roce_ctx *ctx, const struct roce_endpoint *side)
{
    const struct roce_meter *m = side->meter;
    uint64_t ns, bytes;
    uint32_t packets;

    if (!m)
        return 0;
    ns = roce_since(m->time, ctx->time);
    packets = side->counts.packets - m->packets;
    bytes = (uint32_t)((uint32_t)side->counts.bytes - m->bytes);
    if (m->time == 0 || m->holed || roce_since(m->last, ctx->time) >= IDLE_NS)
        return 0;
    if (m->before_ns)
        return rate_of(m->before_bytes, m->before_ns);
    if (ns < PART_NS || packets < PART_LEAST || m->pause_ns > ns / 2)
        return 0;
    /* The capture time of a packet is the start of its transmission. So the newest packet is not
     * completely sent at that time, and only half of its bytes are counted. */
    return rate_of(bytes * (2 * packets - 1) / (2 * packets), ns);
}

/* Begins a measuring window with the current packet, which `side` sent. */
static void begin_window(const struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_meter *m = side->meter;

    m->time = ctx->time ? ctx->time : 1;
    m->packets = side->counts.packets - 1;
    m->bytes = (uint32_t)side->counts.bytes - (uint32_t)ctx->pkt->wire_len;
    m->pause_ns = 0;
    m->holed = false;
}

static void close_episode(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_cnp_end end)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, side);
    struct roce_slowdown *s = &cold->slow;
    struct roce_cnp_summary *sum = &cold->cnp;

    s->open = false;
    s->sum.end = end;
    s->sum.conn_index = side->conn->conn_index;
    s->sum.side = roce_endpoint_side(side);
    s->sum.ce_marked = (uint32_t)((uint32_t)cold->ce_marked - s->marked);
    sum->episodes++;
    if (s->sum.before && s->sum.lowest)
        sum->measured++;
    if (s->sum.slowed) {
        roce_spread_add(&sum->before, s->sum.before);
        roce_spread_add(&sum->lowest, s->sum.lowest);
    }
    if (end == ROCE_CNP_RECOVERED)
        roce_spread_add(&sum->recovery_ns, s->sum.recovered_ns);
    roce_gate(ctx->flow);
    if (ctx->flow->opts.on_cnp_episode)
        ctx->flow->opts.on_cnp_episode(ctx->flow->opts.user, &s->sum);
}

/* Adds `rate`, in bytes per second, to the congestion episode of `side`. `rate` is the rate in the
 * measuring window that has just ended. */
static void note_window_rate(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t rate)
{
    struct roce_slowdown *s = &side->counts.cold->slow;
    uint64_t since = roce_since(s->sum.time, ctx->time);
    bool quiet;

    s->windows++;
    if (s->sum.lowest == 0 || rate < s->sum.lowest) {
        s->sum.lowest = rate ? rate : 1;
        s->sum.lowest_ns = since;
    }
    s->sum.after = rate;
    s->sum.slowed |= s->sum.before && is_slow(rate, s->sum.before);
    if (s->sum.slowed && is_back(rate, s->sum.before) && s->windows > 1) {
        /* `windows` counts the windows since the latest CNP. The first window may contain the CNP.
         * Each later window begins after the CNP. */
        s->sum.recovered_ns = since;
        close_episode(ctx, side, ROCE_CNP_RECOVERED);
        return;
    }
    quiet = s->windows > QUIET_WINS && roce_since(s->cnp_time, ctx->time) >= QUIET_NS;
    if (quiet && !s->sum.slowed)
        close_episode(ctx, side, ROCE_CNP_QUIET);
}

/* Ends the measuring window, which is `ns` long. The current packet begins the next one. */
static void end_window(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns)
{
    struct roce_meter *m = side->meter;
    const struct roce_cold_counters *cold = side->counts.cold;
    uint64_t bytes =
        (uint32_t)((uint32_t)side->counts.bytes - (uint32_t)ctx->pkt->wire_len - m->bytes);

    if (m->holed) {
        m->before_ns = 0;
    } else if (m->pause_ns <= ns / 2) {
        m->before_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
        m->before_bytes = (uint32_t)bytes;
        if (cold && cold->slow.open)
            note_window_rate(ctx, side, rate_of(bytes, ns));
    }
    begin_window(ctx, side);
}

/* Ends the congestion episode of an endpoint that was idle, and begins a new window. */
static void end_idle_window(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    if (side->counts.cold && side->counts.cold->slow.open)
        close_episode(ctx, side, ROCE_CNP_IDLE);
    begin_window(ctx, side);
    side->meter->before_ns = 0;
}

void roce_rate_step(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    struct roce_meter *m = side->meter;
    uint64_t ns, pause;

    if (!m) {
        if (side->counts.packets < FEW)
            return;
        m = side->meter = roce_mem_get(&ctx->flow->mem, sizeof(*m));
        if (!m)
            return;
    }
    ns = roce_since(m->time, ctx->time);
    pause = roce_since(m->last, ctx->time);
    m->last = ctx->time;
    if (pause >= IDLE_NS) {
        end_idle_window(ctx, side);
        return;
    }
    if (m->time == 0) {
        begin_window(ctx, side);
        return;
    }
    if (ctx->result->flags & ROCE_AN_COPY) { /* the current packet was captured before and counted
                                              * then, so exclude its copy from the window */
        m->packets++;
        m->bytes += (uint32_t)ctx->pkt->wire_len;
        return;
    }
    if (pause > m->pause_ns)
        m->pause_ns = (uint32_t)pause;
    if (ctx->result->flags & ROCE_AN_PSN_GAP)
        m->holed = true;
    if (ns >= ROCE_RATE_WINDOW_NS && side->counts.packets - 1 - m->packets >= ROCE_RATE_PACKETS)
        end_window(ctx, side, ns);
}

void roce_rate_hole(struct roce_endpoint *side)
{
    if (!side->meter)
        return;
    side->meter->holed = true;
    side->meter->before_ns = 0;
}

void roce_rate_cnp(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, side);
    struct roce_slowdown *s = &cold->slow;

    if (side->counts.cold != cold)
        return; /* the counters could not be allocated */
    if (!s->open) {
        *s = (struct roce_slowdown){.open = true, .marked = (uint32_t)cold->ce_marked};
        s->marked -= ctx->result->ce_frame != 0; /* the CE-marked packet that caused this CNP also
                                                  * belongs to the episode, so do not count it as
                                                  * sent before the episode */
        s->sum.frame = ctx->frame;
        s->sum.time = ctx->time;
        s->sum.recovered_ns = ROCE_NEVER_NS;
        s->sum.before = rate_now(ctx, side);
        if (side->meter) { /* begin a new window with the next packet */
            side->meter->time = 0;
            side->meter->before_ns = 0;
        }
    }
    s->sum.cnps++;
    s->sum.last_frame = ctx->frame;
    s->cnp_time = ctx->time;
    s->windows = 0;
}

void roce_rate_end(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    if (side->counts.cold && side->counts.cold->slow.open)
        close_episode(ctx, side, ROCE_CNP_OPEN);
}
