/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * DCQCN: the reaction point: how fast a QP may send after CNPs named it (CA17-45, CA17-46, R218).
 * The algorithm is that of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
 * SIGCOMM 2015, section 5; its parameters have the names, units and defaults that operators know
 * from vendor tools (NVIDIA: "DCQCN CC Parameters", mlxconfig, mlx5 debugfs cc_params).
 *
 * Pure arithmetic on the caller's time and bytes, in integers: the same calls give the same rates.
 * Nothing happens between calls: each makes up for the timer events that are past, so a QP that is
 * not sending costs nothing.
 *
 * Where paper and products differ, the parameters decide: clamp_tgt_rate 1 takes the target from
 * the current rate at each cut, as the paper does; alpha is updated once each dce_tcp_rtt whether a
 * CNP came or not, as products do, which is the paper's where CNPs are at least so far apart. In
 * hyper increase each event adds rpg_hai_rate, as products do.
 */
#ifndef RNIC_DCQCN_H
#define RNIC_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

/* Type, name, default, least, greatest, unit and meaning. */
/* clang-format off */
#define RNIC_DCQCN_PARAMS(X)                                                                                        \
    X(rpg_max_rate,                  100000, 1,    4000000,   "Mb/s: rate of a QP that is not held back")           \
    X(rpg_min_rate,                  1,      1,    4000000,   "Mb/s: no cut goes below")                            \
    X(rpg_ai_rate,                   5,      0,    4000000,   "Mb/s added to the target by additive increase")      \
    X(rpg_hai_rate,                  50,     0,    4000000,   "Mb/s added to the target by hyper increase")         \
    X(rpg_time_reset,                300,    1,    131071,    "us from one timed increase to the next")             \
    X(rpg_byte_reset,                32767,  0,    UINT32_MAX,"bytes sent from one increase to the next; 0: none")  \
    X(rpg_threshold,                 1,      1,    31,        "increases before the next phase (the paper's F)")    \
    X(rpg_gd,                        11,     10,   11,        "log2: a cut takes alpha / 2^(gd - 10) of the rate")  \
    X(rpg_min_dec_fac,               50,     0,    100,       "percent of the rate that a cut leaves at least")     \
    X(dce_tcp_g,                     1019,   0,    1023,      "1024ths of alpha that stay at an update")            \
    X(dce_tcp_rtt,                   1,      1,    131071,    "us from one update of alpha to the next")            \
    X(initial_alpha_value,           1023,   1,    1023,      "1024ths: alpha at the first CNP")                    \
    X(rate_to_set_on_first_cnp,      0,      0,    4000000,   "Mb/s; 0: cut as any other CNP does")                 \
    X(rate_reduce_monitor_period,    4,      0,    131071,    "us from one cut to the next at least")               \
    X(clamp_tgt_rate,                0,      0,    1,         "each cut sets the target to the rate before it")     \
    X(clamp_tgt_rate_after_time_inc, 1,      0,    1,         "so does a cut after a timed increase")               \
    X(max_burst_sz,                  16384,  0,    1048576,   "bytes that may be sent at once after a pause")
/* clang-format on */

struct rnic_dcqcn_attr {
#define X(name, otherwise, least, most, text) uint32_t name;
    RNIC_DCQCN_PARAMS(X)
#undef X
};

/* What the vendor documents; rpg_max_rate should be the rate of the link. */
void rnic_dcqcn_defaults(struct rnic_dcqcn_attr *attr);

/* Whether each parameter is in its range, and the least rate not above the greatest. */
bool rnic_dcqcn_valid(const struct rnic_dcqcn_attr *attr);

/* The phases of increase. */
enum rnic_dcqcn_phase {
    RNIC_DCQCN_RECOVERY, /* half way back to the target */
    RNIC_DCQCN_ADDITIVE,
    RNIC_DCQCN_HYPER,
};

/* State of one QP. Times are the caller's nanoseconds, rates bits a second. */
struct rnic_dcqcn {
    uint64_t rate;            /* R_C; while `limited` */
    uint64_t target;          /* R_T */
    uint64_t next;            /* when the next packet may be sent */
    uint64_t timer_at;        /* next timed increase */
    uint64_t alpha_at;        /* next update of alpha */
    uint64_t cut_at;          /* last cut, or the one that is due */
    uint32_t bytes;           /* sent since the last increase by bytes or the last cut */
    uint32_t alpha;           /* in 2^-20 */
    uint32_t timer_increases; /* T: increases by time since the last cut */
    uint32_t byte_increases;  /* BC: increases by bytes */
    bool limited;             /* CNPs came, and the rate is not back at the greatest */
    bool cnp_seen;            /* since the last update of alpha */
    bool cut_due;             /* at cut_at */
};

/* Not held back. */
void rnic_dcqcn_init(struct rnic_dcqcn *dc);

/* A CNP for this QP. */
void rnic_dcqcn_cnp(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now);

/* A packet of `len` bytes was sent. */
void rnic_dcqcn_sent(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint32_t len,
                     uint64_t now);

/* When the next packet may be sent: at most `now` if at once. */
uint64_t rnic_dcqcn_next(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now);

enum rnic_dcqcn_phase rnic_dcqcn_phase(const struct rnic_dcqcn *dc,
                                       const struct rnic_dcqcn_attr *attr);

#endif
