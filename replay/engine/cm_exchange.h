/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchange: the messages of the communication manager that belong together, from a REQ (or a
 * SIDR REQ) to its disconnect, and the result of replaying both ends (cm_replay.h).
 */
#ifndef REPLAY_ENGINE_CM_EXCHANGE_H
#define REPLAY_ENGINE_CM_EXCHANGE_H

#include "engine/rc_compare_responses.h"
#include "engine/field_diff.h"
#include "wire/cm_msg.h"

/* Limit of exchanges; further ones are not replayed. */
#define CM_EXCHANGES_MAX 4096u

/* Result for one end of an exchange, which our CM replaces. */
struct cm_exchange_end {
    enum verdict verdict;
    const char *skip;    /* reason, if SKIPPED */
    uint32_t compared;   /* messages */
    uint32_t lost;       /* captured messages that this end cannot have received */
    uint32_t only_ours;  /* messages that only our CM sent */
    uint32_t optional;   /* messages that a program may send at any time: MRA, LAP, APR */
    uint32_t diff_cnt;   /* messages that differ */
    const char *stopped; /* reason why the comparison stopped, or NULL */
};

enum cm_role { CM_ACTIVE, CM_PASSIVE };

struct cm_exchange {
    uint8_t addr[2][16]; /* by enum exchange_role */
    uint32_t id[2];      /* communication ids, 0 if unknown; SIDR: the request id in both */
    bool sidr;
    uint64_t service_id;
    uint64_t tid;  /* of the first message */
    uint32_t *pkt; /* indices into trace.pkt */
    size_t cnt;
    size_t cap;
    struct cm_exchange_end
        end[2]; /* by enum cm_role; SKIPPED without a reason if it was not replayed */
};

struct cm_exchanges {
    const struct trace *trace;
    struct cm_exchange *at;
    size_t cnt;
    size_t cap;
    struct diff *diff; /* diff.dir is the index of the exchange, diff.request the role */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Finds the CM exchanges of a trace. Returns 0, or -1 without memory. Call cm_exchanges_free() in
 * both cases. */
int cm_exchanges_find(struct cm_exchanges *xs, const struct trace *trace);
void cm_exchanges_free(struct cm_exchanges *xs);

/* Reads the CM message of a packet of the trace. Returns false if it has none. */
bool cm_exchange_message(const struct trace *trace, uint32_t pkt, struct roce_cm_msg *out);

/* Returns whether the end sent message `i` of the exchange. */
bool cm_exchange_is_from(const struct cm_exchanges *xs, const struct cm_exchange *x,
                         enum cm_role end, size_t i);

/* Adds the differences of the message in packet `pkt`, sent by end `role`. Returns 0, or -1
 * without memory. */
int cm_exchange_report(struct cm_exchanges *xs, uint32_t idx, enum cm_role role, uint32_t pkt,
                       const struct field_diffs *d, const char *reason);

#endif
