/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/dcqcn.h"

#include <string.h>

#define MBPS      UINT64_C(1000000)
#define US        UINT64_C(1000)
#define ALPHA_ONE (UINT32_C(1) << 20)

void rnic_dcqcn_defaults(struct rnic_dcqcn_attr *attr)
{
    *attr = (struct rnic_dcqcn_attr){
#define X(name, otherwise, least, most, text) .name = (otherwise),
        RNIC_DCQCN_PARAMS(X)
#undef X
    };
}

bool rnic_dcqcn_valid(const struct rnic_dcqcn_attr *attr)
{
    static const struct rnic_dcqcn_attr least = {
#define X(name, otherwise, least, most, text) .name = (least),
        RNIC_DCQCN_PARAMS(X)
#undef X
    };
    static const struct rnic_dcqcn_attr most = {
#define X(name, otherwise, least, most, text) .name = (most),
        RNIC_DCQCN_PARAMS(X)
#undef X
    };

#define X(name, otherwise, low, high, text)                                                        \
    if (attr->name - least.name > most.name - least.name)                                          \
        return false;
    RNIC_DCQCN_PARAMS(X)
#undef X
    return attr->rpg_min_rate <= attr->rpg_max_rate &&
           attr->rate_to_set_on_first_cnp <= attr->rpg_max_rate;
}

void rnic_dcqcn_init(struct rnic_dcqcn *dc)
{
    memset(dc, 0, sizeof(*dc));
}

static uint64_t max_rate(const struct rnic_dcqcn_attr *attr)
{
    return attr->rpg_max_rate * MBPS;
}

enum rnic_dcqcn_phase rnic_dcqcn_phase(const struct rnic_dcqcn *dc,
                                       const struct rnic_dcqcn_attr *attr)
{
    uint32_t most =
        dc->timer_increases > dc->byte_increases ? dc->timer_increases : dc->byte_increases;
    uint32_t least =
        dc->timer_increases < dc->byte_increases ? dc->timer_increases : dc->byte_increases;

    if (most < attr->rpg_threshold)
        return RNIC_DCQCN_RECOVERY;
    return least > attr->rpg_threshold ? RNIC_DCQCN_HYPER : RNIC_DCQCN_ADDITIVE;
}

/* Returns the amount that one rate increase adds to the target rate in the current phase, bits per
 * second. */
static uint64_t increase_step(const struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr)
{
    switch (rnic_dcqcn_phase(dc, attr)) {
    case RNIC_DCQCN_RECOVERY: break;
    case RNIC_DCQCN_ADDITIVE: return attr->rpg_ai_rate * MBPS;
    case RNIC_DCQCN_HYPER: return attr->rpg_hai_rate * MBPS;
    }
    return 0;
}

/* Applies one rate increase. Adds the step of the current phase to the target rate. Then moves the
 * current rate halfway to the target rate. Rounding up lets the current rate reach the target
 * rate. */
static void increase_rate(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr)
{
    dc->target += increase_step(dc, attr);
    if (dc->target > max_rate(attr))
        dc->target = max_rate(attr);
    dc->rate = dc->target - (dc->target - dc->rate) / 2;
    if (dc->rate == max_rate(attr))
        dc->limited = false;
}

/* Applies the rate increases of the timer that are due at `now`. After more than rpg_threshold
 * timer increases, the timer no longer changes the phase. Once the current rate is one step below
 * the target rate, each further increase adds one step to both. A formula applies these increases
 * at once, because many can be due after an idle time. */
static void apply_timed_increases(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr,
                                  uint64_t now)
{
    const uint64_t period = attr->rpg_time_reset * US;

    while (dc->limited && dc->timer_at <= now) {
        uint64_t events = (now - dc->timer_at) / period + 1;
        uint64_t by = increase_step(dc, attr);
        uint64_t behind = dc->target - dc->rate;

        if (dc->timer_increases > attr->rpg_threshold && (behind == by || behind + 1 == by)) {
            uint64_t room = by ? (max_rate(attr) - dc->target) / by : events;
            uint64_t cnt = events < room ? events : room;

            dc->target += cnt * by;
            dc->rate += cnt * by;
            dc->timer_at += cnt * period;
            if (cnt == events)
                return;
        }
        dc->timer_increases++;
        dc->timer_at += period;
        increase_rate(dc, attr);
    }
}

/* Applies the updates of alpha up to `now`. A CNP that arrived after the last update raises alpha
 * in the first of these updates. */
static void update_alpha(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    const uint64_t period = attr->dce_tcp_rtt * US;

    while (dc->alpha_at <= now && (dc->alpha || dc->cnp_seen)) {
        dc->alpha = (uint32_t)((uint64_t)dc->alpha * attr->dce_tcp_g / 1024);
        if (dc->cnp_seen)
            dc->alpha += (ALPHA_ONE / 1024) * (1024 - attr->dce_tcp_g);
        dc->cnp_seen = false;
        dc->alpha_at += period;
    }
    if (dc->alpha_at <= now)
        dc->alpha_at += ((now - dc->alpha_at) / period + 1) * period;
}

static void cut_rate(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t at)
{
    uint64_t least = dc->rate * attr->rpg_min_dec_fac / 100;
    uint64_t down = (dc->rate * dc->alpha / ALPHA_ONE) >> (attr->rpg_gd - 10);

    if (attr->clamp_tgt_rate || dc->byte_increases ||
        (dc->timer_increases && attr->clamp_tgt_rate_after_time_inc))
        dc->target = dc->rate;
    dc->rate = dc->rate - down > least ? dc->rate - down : least;
    if (dc->rate < attr->rpg_min_rate * MBPS)
        dc->rate = attr->rpg_min_rate * MBPS;
    if (dc->target < dc->rate)
        dc->target = dc->rate;
    dc->timer_increases = 0;
    dc->byte_increases = 0;
    dc->bytes = 0;
    dc->timer_at = at + attr->rpg_time_reset * US;
    dc->cut_at = at;
    dc->cut_due = false;
}

/* Applies all timer events up to `now`. */
static void catch_up(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    if (!dc->limited)
        return;
    if (dc->cut_due && dc->cut_at <= now) {
        uint64_t at = dc->cut_at;

        apply_timed_increases(dc, attr, at);
        update_alpha(dc, attr, at);
        dc->limited = true;
        cut_rate(dc, attr, at);
    }
    apply_timed_increases(dc, attr, now);
}

/* Handles the first CNP of a QP. The rate of the QP was not limited before. */
static void start_limiting(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    rnic_dcqcn_init(dc);
    dc->limited = true;
    dc->rate = dc->target = max_rate(attr);
    dc->alpha = attr->initial_alpha_value * (ALPHA_ONE / 1024);
    dc->alpha_at = now + attr->dce_tcp_rtt * US;
    dc->next = now;
    cut_rate(dc, attr, now);
    if (attr->rate_to_set_on_first_cnp)
        dc->rate = dc->target = attr->rate_to_set_on_first_cnp * MBPS;
}

void rnic_dcqcn_cnp(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    catch_up(dc, attr, now);
    if (!dc->limited) {
        start_limiting(dc, attr, now);
        dc->cnp_seen = true;
        return;
    }
    update_alpha(dc, attr, now);
    dc->cnp_seen = true;
    if (dc->cut_due)
        return;
    if (now - dc->cut_at >= attr->rate_reduce_monitor_period * US) {
        cut_rate(dc, attr, now);
    } else {
        dc->cut_at += attr->rate_reduce_monitor_period * US;
        dc->cut_due = true;
    }
}

void rnic_dcqcn_sent(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint32_t len,
                     uint64_t now)
{
    uint64_t burst;

    catch_up(dc, attr, now);
    if (!dc->limited)
        return;
    burst = attr->max_burst_sz * UINT64_C(8000000000) / dc->rate;
    if (dc->next < now && now - dc->next > burst)
        dc->next = now - burst;
    dc->next += len * UINT64_C(8000000000) / dc->rate;
    if (attr->rpg_byte_reset == 0)
        return;
    for (dc->bytes += len; dc->limited && dc->bytes >= attr->rpg_byte_reset;
         dc->bytes -= attr->rpg_byte_reset) {
        dc->byte_increases++;
        increase_rate(dc, attr);
    }
}

uint64_t rnic_dcqcn_next(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    catch_up(dc, attr, now);
    return dc->limited ? dc->next : 0;
}
