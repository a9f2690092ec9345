/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The packets, directions and results of a comparison of two captures (two_points.h).
 *
 *   two_points.c          records the packets of each capture
 *   two_points_match.c    matches the packets of both captures
 *   two_points_compare.c  aligns the clocks, fills the results
 *   two_points_report.c   prints the results as text and as JSON
 */
#ifndef REPLAY_CHECK_POINTS_TWO_POINTS_DATA_H
#define REPLAY_CHECK_POINTS_TWO_POINTS_DATA_H

#include "check/points/two_points.h"
#include "util/keymap.h"

#define FRAMES_LISTED 6u         /* maximum number of frame numbers in the report */
#define NO_MATE       UINT32_MAX /* point_packet.mate: the other capture lacks the packet */

struct point_packet {
    uint64_t key;  /* hash of addresses, QP, PSN and opcode */
    uint64_t time; /* ns */
    uint32_t icrc;
    uint32_t frame;
    uint32_t dir;
    uint32_t flow; /* index in two_points.flow */
    uint32_t mate; /* index of the packet in the other capture, or NO_MATE */
    uint8_t naks;  /* number of sequence NAKs for this transmission, at most 255 */
    bool copy : 1; /* the analysis of the capture considers this packet a duplicate that the network
                    * or the capture made; two_points_counts() corrects errors of the analysis */
    bool damaged : 1;
    bool in_disorder : 1; /* captured after a packet that was sent later, or before one that was
                           * sent earlier */
    bool again : 1;       /* a retransmission; the previous transmission was `in_disorder` */
};

/* Source and destination of a direction. */
struct point_addrs {
    uint8_t src[16], dst[16];
};

/* Key of a flow, which is the packets of one direction to one QP. */
struct point_flow_key {
    struct point_addrs addrs;
    uint32_t dest_qp;
};

/* Losses of one direction, inferred from one capture alone. */
struct point_losses {
    uint64_t before; /* packets that never reached the capture point */
    /* READ responses that were captured but lost or late between the capture point and the
     * requester. The requester retransmitted their READs. */
    uint64_t behind;
    /* Requests that this capture lacks although the receiver acknowledged them. */
    uint64_t missed;
};

struct point_capture {
    struct two_points *all;
    unsigned which;
    struct point_packet *packet;
    uint32_t cnt, cap;
    uint64_t first_time, last_time; /* times of the first and the last frame, ns */
    bool unverified;  /* the capture has packets without their ICRC, because the snaplen cut them */
    uint32_t *by_dir; /* indices of the packets, sorted by direction */
};

struct point_delay {
    uint64_t min, median, max; /* ns */
};

struct point_result {
    /* At least one packet of the direction is in both captures, so `delay` is known. */
    bool timed;
    struct point_delay delay; /* valid if `timed` */
    uint64_t packets[2];      /* number of packets at the first and the second point */
    /* Packets captured only at the first point. `outside`: packets that passed while the second
     * capture was not running. `missed`: packets that the receiver acknowledged, so they arrived
     * and only the capture lacks them. `lost`: all other packets. If the second capture lacks the
     * whole direction, `lost` is 0, and `missed` also counts the other packets. */
    uint64_t lost, missed, outside;
    /* Packets captured only at the second point. `outside_first`: packets that passed while the
     * first capture was not running. `only_second`: all other packets. */
    uint64_t only_second, outside_first;
    uint64_t damaged;
    uint64_t reordered; /* packets that were overtaken between the two points by a packet that
                         * passed the first point later */
    uint64_t behind;    /* packets that were lost or late after the second point */
    uint32_t frame[FRAMES_LISTED]; /* frame numbers of the first lost or missed packets */
};

struct point_direction {
    struct point_addrs addrs;
    bool from_b;  /* packets of this direction pass the capture point of b first, then the capture
                   * point of a */
    bool emptied; /* two_points_adopt() moved all packets to another direction */
    bool matched; /* at least one packet of this direction is in both captures */
    bool guessed; /* true: `matched` is false, and `median` is a guess of guess_medians() */
    /* Time in capture b minus time in capture a, ns: least, median and greatest value over the
     * packets that occur once in each capture. */
    int64_t least, median, most;
    struct point_losses losses[2]; /* [0]: inferred from capture a, [1]: from b */
    uint32_t begin[2];             /* index of the first packet in point_capture.by_dir */
    uint32_t cnt[2];               /* number of packets in each capture */
    /* For capture a and b: index, among the packets of the direction, of the first and the last
     * packet that both captures have. */
    uint32_t first_common[2], last_common[2];
    struct point_result result; /* set by two_points_compare() */
};

struct two_points {
    struct point_capture at[2];
    struct keymap index; /* number of each direction, by its struct point_addrs */
    struct point_direction *dir;
    size_t dir_cap;
    struct keymap flow_index; /* number of each flow, by its struct point_flow_key */
    struct two_points_path *flow;
    size_t flow_cap;
    bool failed;   /* out of memory */
    int64_t ahead; /* time of clock b minus time of clock a, ns */
    /* Accuracy of `ahead`, ns: half of the range that the packets allow, and at least the clock
     * resolution. Negative if the times of the packets contradict each other. */
    int64_t spread;
    bool both_ways;
    int64_t *ns; /* array with one time difference for each packet of capture a, ns */
};

/* Returns whether packet `p` of capture `which` is counted. A packet that the analysis took for a
 * copy is not counted, with one exception: if the other capture has the packet and did not take it
 * for a copy, it is a retransmission. */
static inline bool two_points_counts(const struct two_points *all, unsigned which,
                                     const struct point_packet *p)
{
    return !p->copy || (p->mate != NO_MATE && !all->at[!which].packet[p->mate].copy);
}

static inline bool two_points_equal(const struct point_packet *x, const struct point_packet *y)
{
    return x->key == y->key && x->icrc == y->icrc;
}

/* Returns packet `i` of a direction in capture `which`. */
static inline struct point_packet *two_points_packet(const struct two_points *all, unsigned which,
                                                     uint32_t dir, uint32_t i)
{
    const struct point_capture *at = &all->at[which];

    return &at->packet[at->by_dir[all->dir[dir].begin[which] + i]];
}

/* Returns the delay of a packet of a direction between the two points, ns. `ns` is its time in
 * capture b minus its time in capture a. */
static inline uint64_t two_points_delay(const struct two_points *all, uint32_t dir, int64_t ns)
{
    int64_t delay = all->dir[dir].from_b ? all->ahead - ns : ns - all->ahead;

    return delay > 0 ? (uint64_t)delay : 0;
}

/* Returns pointers to the packets of a capture, sorted so that equal packets are adjacent and
 * remain in capture order. `icrc`: equal packets must have equal ICRCs. Returns NULL if out of
 * memory. */
struct point_packet **two_points_sort(struct point_capture *at, bool icrc);

enum point_match {
    MATCH_SINGLE,   /* packets that occur once in each capture, not counting copies */
    MATCH_FIRST,    /* the first of several equal packets in each capture, in directions that are
                     * not `matched` */
    MATCH_REPEATED, /* packets that occur several times in a capture */
};

/* Matches equal packets of both captures. `a` and `b` are results of two_points_sort(). */
void two_points_match(struct two_points *all, struct point_packet **a, struct point_packet **b,
                      enum point_match which);

/* Moves each packet with damaged addresses to the direction of its original in the other capture.
 * The original has the same ICRC field, and either the same source or the same destination. Called
 * before the packets are sorted by direction. */
void two_points_adopt(struct two_points *all);

/* Matches the damaged packets of a direction with their originals, which have the same headers or
 * the same ICRC field. */
void two_points_match_damaged(struct two_points *all, uint32_t dir);

#endif
