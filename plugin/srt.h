/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flight: which operation a response completes, for taps. Frames are those of the tap, so that a
 * filter counts; retransmissions are not operations of their own.
 */
#ifndef PLUGIN_SRT_H
#define PLUGIN_SRT_H

#include "ws_compat.h"
#include "analysis_store.h"

struct roce_flight_done {
    enum roce_kind kind; /* of the request */
    uint32_t stream;
    uint64_t bytes; /* payload of the message, or what a READ brought */
    uint64_t begun; /* ns, of its first packet */
    uint64_t ns;    /* until this response; NEVER in UC, where the last packet is the end */
};

/* Of one tap. */
struct roce_flight;

struct roce_flight *roce_flight_new(void);
void roce_flight_del(struct roce_flight *flight); /* NULL is fine */

/* Looks at a frame. `done` is called for each operation that it completes. */
void roce_flight_packet(struct roce_flight *flight, const struct roce_tap *tap, packet_info *pinfo,
                        void (*done)(void *user, const struct roce_flight_done *done), void *user);

/* Whether the frame starts an operation that was not there before. */
bool roce_flight_starts(const struct roce_tap *tap);

/* Bytes of remote memory that a READ, WRITE or atomic names; 0 in others. */
uint64_t roce_flight_asked(const struct roce_pkt *pkt);

static inline uint64_t roce_flight_time(const packet_info *pinfo)
{
    return (uint64_t)pinfo->abs_ts.secs * 1000000000u + (uint64_t)pinfo->abs_ts.nsecs;
}

#endif
