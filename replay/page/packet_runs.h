/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet runs: the packets of one stream (page_capture.h), for a graph. A run is one or several
 * consecutive packets that are drawn together. At first each packet is one run. When a stream
 * reaches its limit of runs, neighbouring runs of the same class are merged. Packets with a mark
 * (gap, finding ...) and packets that end a wait are merged last. After a merge, a packet without a
 * mark is added to the latest run of its class, until this run has as many packets as a merged run.
 * So memory and page size do not depend on the length of the capture, and packets with a mark stay
 * visible. Used by page_capture.c.
 */
#ifndef REPLAY_PAGE_PACKET_RUNS_H
#define REPLAY_PAGE_PACKET_RUNS_H

#include "flow/flow.h"
#include "page/page_memory.h"

/* Smallest limit for the runs of a stream. Some runs can never be merged: one for each side and
 * class. The limit exceeds their number. */
#define PACKET_RUNS_MIN 32u
#define PACKET_RUNS_MAX 10000u /* largest limit; a browser still draws that many quickly */

/* Class of a packet. packet_runs.c has the names that page_data.h writes for these classes. */
enum run_class {
    RUN_REQUEST,
    RUN_REPEATED_REQUEST,
    RUN_RESPONSE, /* READ or atomic response */
    RUN_REPEATED_RESPONSE,
    RUN_ACK,
    RUN_NAK,
    RUN_RNR_NAK,
    RUN_CNP,
    RUN_DROPPED, /* damaged or malformed: a receiver drops it */
    RUN_COPY,    /* copy of a packet that the capture contains twice */
    RUN_OTHER,
    RUN_CLASS_CNT
};

/* Bits of packet_run.marks. */
enum run_mark {
    RUN_MARK_GAP = 1u << 0, /* the capture lacks packets before this packet */
    /* The packet skips READ data or an atomic response, which is an implied NAK. */
    RUN_MARK_IMPLIED_NAK = 1u << 1,
    RUN_MARK_OUT_OF_ORDER = 1u << 2,
    RUN_MARK_DUPLICATE_ACK = 1u << 3,
    RUN_MARK_ACKED_BEFORE = 1u << 4, /* request retransmitted although the capture has its ACK */
    RUN_MARK_NEW_USE = 1u << 5, /* first run of the direction after the QP pair was set up again (a
                                   new use of the QP pair) */
    RUN_MARK_FINDING = 1u << 6,
    RUN_MARK_OF_RESPONSE = 1u << 7, /* RUN_DROPPED and RUN_COPY: the packet is a response */
};

struct packet_run {
    uint64_t first_time, last_time; /* times of the first and last packet, ns */
    uint64_t payload, wire;         /* bytes of all packets */
    uint64_t flight;                /* maximum of the payload bytes in flight */
    uint64_t rtt;                   /* longest round-trip time of an ACK, ns; 0 if none */
    /* Retransmission: time that the requester waited before it retransmitted, ns. RNR NAK: RNR
     * timer in the NAK, ns. */
    uint64_t wait;
    uint64_t waited; /* wait of the requester that ended with the first packet, ns; 0 if none */
    uint32_t first_frame, last_frame, cnt;
    uint32_t psn, span; /* lowest PSN, and number of PSNs from the lowest to the highest */
    uint32_t gap;       /* number of PSNs missing before the first packet */
    uint32_t ce;        /* packets with a CE mark */
    uint32_t go_back;   /* retransmission: number of the frame with which its go-back began */
    uint16_t sport;     /* UDP source port */
    uint8_t side;       /* side of the sender */
    uint8_t class;      /* enum run_class */
    uint8_t kind;       /* enum roce_kind of the first packet */
    /* Retransmission: enum roce_cause. Sequence NAK: ROCE_CAUSE_RNR_NAK if an RNR NAK refused the
     * packet that the NAK requests (packet_runs_mark_refused()). */
    uint8_t cause;
    uint8_t marks;  /* bit set of enum run_mark */
    uint8_t detail; /* NAK: AETH syndrome. First packet after a timeout: enum roce_loss */
};

/* Packet runs of one stream. The struct fits in one cache line, because the streams of a large
 * capture do not all fit in the processor's cache. */
struct packet_runs {
    struct packet_run *run; /* array, in ascending order of first_frame */
    uint32_t cnt, cap;
    uint32_t length; /* maximum number of packets in a run without a mark; 0 means 1 */
    /* Index plus 1 of the latest run of each side and class if the run has no mark, so that it may
     * still grow; otherwise 0. */
    uint16_t open[2][RUN_CLASS_CNT];
};

/* Returns the direction of a run, which is the number of the side that sends the requests: for
 * requests the sender, for responses the other side. */
static inline unsigned packet_run_direction(const struct packet_run *run)
{
    const bool response = (run->class >= RUN_RESPONSE && run->class <= RUN_RNR_NAK) ||
                          run->marks & RUN_MARK_OF_RESPONSE;

    return response ? !run->side : run->side;
}

/* Returns whether the run has PSNs, and they belong to the requests of side `direction`. */
static inline bool packet_run_is_in(const struct packet_run *run, unsigned direction)
{
    return run->class != RUN_CNP && run->class != RUN_OTHER &&
           packet_run_direction(run) == direction;
}

static inline bool packet_run_is_request(const struct packet_run *run)
{
    return run->class == RUN_REQUEST || run->class == RUN_REPEATED_REQUEST;
}

/* Returns whether the packets acknowledge requests and are not retransmissions. */
static inline bool packet_run_is_answer(const struct packet_run *run)
{
    return run->class == RUN_ACK || run->class == RUN_RESPONSE;
}

/* Returns the lane of a run: its sender and its UDP source port. */
static inline uint32_t packet_run_lane(const struct packet_run *run)
{
    return (uint32_t)run->side << 16 | run->sport;
}

/* Returns whether packet_runs_make_room() must be called before the next packet. */
static inline bool packet_runs_are_full(const struct packet_runs *runs)
{
    return runs->cnt == runs->cap;
}

/* Makes room for a run, in memory of `memory`. Merges runs if there are `max` of them; `max` is at
 * least PACKET_RUNS_MIN. Returns false if out of memory. */
bool packet_runs_make_room(struct packet_runs *runs, struct page_memory *memory, uint32_t max);

/* Adds a packet. packet_runs_make_room() must have made room for it. */
void packet_runs_add(struct packet_runs *runs, const struct roce_flow_in *in,
                     const struct roce_flow_result *result);

/* Sets the cause of the sequence NAKs that request a packet which an RNR NAK refused before. Linux
 * rxe sends such a NAK for the requests that follow the refused packet. Called after the last
 * packet. */
void packet_runs_mark_refused(struct packet_runs *runs);

/* Marks the first run of each direction from frame `frame` on as the start of a new use of the QP
 * pair. Uses the first request, or if there is none, the first response. Does not mark the first
 * run of a whole direction. Called after the last packet. */
void packet_runs_mark_use(struct packet_runs *runs, uint32_t frame);

static inline bool packet_run_begins_use(const struct packet_run *run)
{
    return run->marks & RUN_MARK_NEW_USE;
}

/* Returns whether packet_runs_mark_refused() set the cause of a sequence NAK. */
static inline bool packet_run_is_refused(const struct packet_run *run)
{
    return run->class == RUN_NAK && run->cause == ROCE_CAUSE_RNR_NAK;
}

/* Returns the number of packets in runs of more than one packet. */
uint64_t packet_runs_merged(const struct packet_runs *runs);

/* Copies the runs of `other` to `runs`, as runs of side `side`, and sorts all runs of `runs` by
 * first_frame. No packet may be added to `runs` after this call. Returns false if out of memory. */
bool packet_runs_join(struct packet_runs *runs, struct page_memory *memory,
                      const struct packet_runs *other, uint8_t side);

const char *run_class_name(enum run_class class);

#endif
