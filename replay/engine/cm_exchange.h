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

/* More are left out. */
#define CM_EXCHANGES_MAX 4096u

/* One end of an exchange that our CM stands for. */
struct cm_exchange_end {
    enum verdict verdict;
    const char *skip;    /* for SKIPPED */
    uint32_t compared;   /* messages */
    uint32_t lost;       /* messages captured that this end cannot have got */
    uint32_t only_ours;  /* messages only ours sent */
    uint32_t optional;   /* messages that a program sends as it likes: MRA, LAP, APR */
    uint32_t diff_cnt;   /* messages that differ */
    const char *stopped; /* why no more were compared, or NULL */
};

enum cm_role { CM_ACTIVE, CM_PASSIVE };

struct cm_exchange {
    uint8_t addr[2][16]; /* by enum exchange_role */
    uint32_t id[2];      /* communication ids; 0 while unknown. SIDR: the request id, twice */
    bool sidr;
    uint64_t service_id;
    uint64_t tid;  /* of the first message */
    uint32_t *pkt; /* indices into trace.pkt */
    size_t cnt;
    size_t cap;
    struct cm_exchange_end
        end[2]; /* by enum exchange_role; not asked for: SKIPPED without reason */
};

struct cm_exchanges {
    const struct trace *trace;
    struct cm_exchange *at;
    size_t cnt;
    size_t cap;
    struct diff *diff; /* `run` is the index of the exchange; `request` the role */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Finds the CM exchanges of a trace. Returns 0, or -1 without memory. Call cm_exchanges_free() in
 * both cases. */
int cm_exchanges_find(struct cm_exchanges *xs, const struct trace *trace);
void cm_exchanges_free(struct cm_exchanges *xs);

/* The CM message of a packet of the trace; false if it has none. */
bool cm_exchange_message(const struct trace *trace, uint32_t pkt, struct roce_cm_msg *out);

/* Whether the end sent message `i` of the exchange. */
bool cm_exchange_is_from(const struct cm_exchanges *xs, const struct cm_exchange *x,
                         enum cm_role end, size_t i);

/* Lists what differs in the message of packet `pkt`, from end `role`. 0, or -1 without memory. */
int cm_exchange_report(struct cm_exchanges *xs, uint32_t idx, enum cm_role role, uint32_t pkt,
                       const struct field_diffs *d, const char *reason);

#endif
