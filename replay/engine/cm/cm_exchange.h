/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchange: the messages of the communication manager (CM) that set up and end one connection,
 * from a REQ (or a SIDR REQ) to its disconnect. struct cm_exchange also stores the result of
 * replaying both ends (cm_replay.h).
 */
#ifndef REPLAY_ENGINE_CM_CM_EXCHANGE_H
#define REPLAY_ENGINE_CM_CM_EXCHANGE_H

#include "engine/base/field_diff.h"
#include "wire/cm_msg.h"

/* Maximum number of exchanges of a trace that are replayed. */
#define CM_EXCHANGES_MAX 4096u

/* Result for one end of an exchange, after our CM replaced the recorded CM of that end. */
struct cm_exchange_end {
    enum verdict verdict;
    const char *skip;    /* reason why the end was not replayed, if SKIPPED */
    uint32_t compared;   /* number of messages compared */
    uint32_t lost;       /* number of captured messages to this end that the end cannot have
                          * received, as its later messages show */
    uint32_t only_ours;  /* number of messages that only our CM sent */
    uint32_t optional;   /* number of messages of the end that are not compared: MRA, LAP, APR, and
                          * a REJ that follows a REJ of the peer */
    uint32_t diff_cnt;   /* number of messages that differ */
    const char *stopped; /* reason why the comparison stopped, or NULL */
};

enum cm_role { CM_ACTIVE, CM_PASSIVE };

struct cm_exchange {
    uint8_t addr[2][16]; /* addresses of the ends, indexed by enum cm_role */
    uint32_t id[2];      /* communication ids, 0 if unknown; for SIDR, both are the request id */
    bool sidr;
    uint64_t service_id;
    uint64_t tid;  /* transaction id of the first message */
    uint32_t *pkt; /* messages of the exchange: indices into trace.pkt, in capture order */
    size_t cnt;
    size_t cap;
    struct cm_exchange_end end[2]; /* results, indexed by enum cm_role; SKIPPED without a reason if
                                    * the user excluded the end from the replay */
};

struct cm_exchanges {
    const struct trace *trace;
    struct cm_exchange *at;
    size_t cnt;
    size_t cap;
    struct diff *diff; /* differences; diff.dir is the index of the exchange, diff.request is the
                        * enum cm_role of the end */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Finds the CM exchanges of a trace. Returns 0, or -1 if out of memory. Call cm_exchanges_free() in
 * both cases. */
int cm_exchanges_find(struct cm_exchanges *xs, const struct trace *trace);
void cm_exchanges_free(struct cm_exchanges *xs);

/* Parses the CM message in packet `pkt` of the trace into *out. Returns false if the packet has no
 * CM message. */
bool cm_exchange_message(const struct trace *trace, uint32_t pkt, struct roce_cm_msg *out);

/* Returns whether end `end` sent message `i` of the exchange. */
bool cm_exchange_is_from(const struct cm_exchanges *xs, const struct cm_exchange *x,
                         enum cm_role end, size_t i);

/* Adds the differences *d of the message in packet `pkt`, which end `role` of exchange `idx` sent.
 * Returns 0, or -1 if out of memory. */
int cm_exchange_report(struct cm_exchanges *xs, uint32_t idx, enum cm_role role, uint32_t pkt,
                       const struct field_diffs *d, const char *reason);

#endif
