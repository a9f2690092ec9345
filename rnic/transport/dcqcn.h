/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * DCQCN: the reaction point, which limits the rate of a QP after CNPs (CA17-45, CA17-46, R218). The
 * algorithm is that of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, section 5. Parameters have the names, units and defaults of vendor tools (NVIDIA: "DCQCN CC
 * Parameters", mlxconfig, mlx5 debugfs cc_params).
 *
 * How it is called, for each QP:
 *   1. rnic_dcqcn_init() once: no limit.
 *   2. rnic_dcqcn_cnp() for each CNP.
 *   3. rnic_dcqcn_next() before a packet is sent: the earliest time for the packet.
 *   4. rnic_dcqcn_sent() after the packet was sent.
 *
 * All arithmetic is on integers. The caller passes the time and the bytes, so the same calls always
 * give the same rates. There is no timer: each call applies the timer events since the previous
 * call, so an idle QP costs nothing.
 *
 * Where the paper and products differ, parameters select the behaviour. With clamp_tgt_rate 1, each
 * rate reduction sets the target to the current rate, as in the paper. Alpha is updated once each
 * dce_tcp_rtt, with or without a CNP, as in products; the result equals that of the paper if CNPs
 * are at least dce_tcp_rtt apart. In hyper increase each event adds rpg_hai_rate, as in products.
 */
#ifndef RNIC_DCQCN_H
#define RNIC_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

/* Parameters of DCQCN: name, default, minimum, maximum, unit and meaning. */
/* clang-format off */
#define RNIC_DCQCN_PARAMS(X)                                                                                        \
    X(rpg_max_rate,                  100000, 1,    4000000,   "Mb/s: rate of a QP without rate reduction")           \
    X(rpg_min_rate,                  1,      1,    4000000,   "Mb/s: minimum rate after a rate reduction")                            \
    X(rpg_ai_rate,                   5,      0,    4000000,   "Mb/s added to the target by additive increase")      \
    X(rpg_hai_rate,                  50,     0,    4000000,   "Mb/s added to the target by hyper increase")         \
    X(rpg_time_reset,                300,    1,    131071,    "us: time between two timed increases")             \
    X(rpg_byte_reset,                32767,  0,    UINT32_MAX,"bytes sent between two increases by bytes; 0: no such increases")  \
    X(rpg_threshold,                 1,      1,    31,        "number of increases in a phase (F in the DCQCN paper)")    \
    X(rpg_gd,                        11,     10,   11,        "a rate reduction subtracts alpha / 2^(gd - 10) times the rate")  \
    X(rpg_min_dec_fac,               50,     0,    100,       "minimum percentage of the rate that remains after a rate reduction")     \
    X(dce_tcp_g,                     1019,   0,    1023,      "1024ths: part of alpha that remains after an update")            \
    X(dce_tcp_rtt,                   1,      1,    131071,    "us: time between two updates of alpha")            \
    X(initial_alpha_value,           1023,   1,    1023,      "1024ths: alpha at the first CNP")                    \
    X(rate_to_set_on_first_cnp,      0,      0,    4000000,   "Mb/s: rate after the first CNP; 0: reduce the rate as for later CNPs")                 \
    X(rate_reduce_monitor_period,    4,      0,    131071,    "us: minimum time between two rate reductions")               \
    X(clamp_tgt_rate,                0,      0,    1,         "each rate reduction sets the target to the previous rate")     \
    X(clamp_tgt_rate_after_time_inc, 1,      0,    1,         "a rate reduction after a timed increase also sets the target")               \
    X(max_burst_sz,                  16384,  0,    1048576,   "bytes that may be sent in one burst after a pause")
/* clang-format on */

struct rnic_dcqcn_attr {
#define X(name, otherwise, least, most, text) uint32_t name;
    RNIC_DCQCN_PARAMS(X)
#undef X
};

/* Sets the defaults of the vendor's tools. The caller should then set rpg_max_rate to the rate of
 * the link. */
void rnic_dcqcn_defaults(struct rnic_dcqcn_attr *attr);

/* Returns whether each parameter is in its range, and neither the minimum rate nor the rate after
 * the first CNP exceeds the maximum rate. */
bool rnic_dcqcn_valid(const struct rnic_dcqcn_attr *attr);

/* Phases of the rate increase. */
enum rnic_dcqcn_phase {
    RNIC_DCQCN_RECOVERY, /* fast recovery: the current rate rises halfway to the target rate */
    RNIC_DCQCN_ADDITIVE,
    RNIC_DCQCN_HYPER,
};

/* State of one QP. Times are nanoseconds of the caller's clock, rates are bits per second. */
struct rnic_dcqcn {
    uint64_t rate;     /* current rate (R_C); valid while `limited` */
    uint64_t target;   /* target rate (R_T) */
    uint64_t next;     /* earliest time of the next packet */
    uint64_t timer_at; /* time of the next timed increase */
    uint64_t alpha_at; /* time of the next update of alpha */
    uint64_t cut_at;   /* time of the last rate reduction; if cut_due, of the pending one */
    uint32_t bytes;    /* bytes sent since the last rate increase by the byte counter or the last
                        * rate reduction */
    uint32_t alpha;    /* alpha, in units of 2^-20 */
    uint32_t timer_increases; /* rate increases by the timer since the last rate reduction (the
                               * paper's T) */
    uint32_t byte_increases;  /* rate increases by the byte counter since the last rate reduction
                               * (the paper's BC) */
    bool limited;             /* true from a CNP until the rate is at its maximum again */
    bool cnp_seen;            /* a CNP arrived after the last update of alpha */
    bool cut_due;             /* a rate reduction is pending at cut_at */
};

/* Initializes a QP without a rate limit. */
void rnic_dcqcn_init(struct rnic_dcqcn *dc);

/* Records a CNP for this QP. */
void rnic_dcqcn_cnp(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now);

/* Records that a packet of `len` bytes was sent. */
void rnic_dcqcn_sent(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint32_t len,
                     uint64_t now);

/* Returns the earliest time of the next packet. A time up to `now` means that the packet may be
 * sent now. */
uint64_t rnic_dcqcn_next(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now);

enum rnic_dcqcn_phase rnic_dcqcn_phase(const struct rnic_dcqcn *dc,
                                       const struct rnic_dcqcn_attr *attr);

#endif
