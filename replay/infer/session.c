/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/session.h"

#include <stdlib.h>
#include <string.h>
#include "infer/split_runs.h"
#include "wire/crc32.h"

bool rc_direction_precedes(const struct rc_direction *a, const struct rc_direction *b)
{
    return a->host == b->host && a->setup.qpn == b->setup.qpn && a->setup.event_cnt &&
           b->setup.event_cnt && a->setup.event[0].pkt < b->setup.event[0].pkt;
}

struct tx_response *session_add_response(struct rc_direction *dir, const struct roce_pkt *pkt,
                                         uint32_t event, uint64_t time, int64_t rel)
{
    struct roce_aeth aeth = {0};
    struct tx_response *a;

    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        aeth = pkt->aeth;
    if (!VEC_GROW(dir->response, dir->response_cnt, dir->response_cap))
        return NULL;
    a = &dir->response[dir->response_cnt++];
    *a = (struct tx_response){
        .event = event,
        .time = time,
        .rel = rel,
        .psn = pkt->bth.psn,
        .msn = aeth.msn,
        .dest_qp = pkt->bth.dest_qp,
        .pkey = pkt->bth.pkey,
        .opcode = pkt->bth.opcode,
        .syndrome = aeth.syndrome,
        .se = pkt->bth.se,
        .ackreq = pkt->bth.ackreq,
        .orig = roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH) ? pkt->atomicacketh.orig : 0,
        .payload_len = pkt->payload_len,
        .hash = pkt->payload_len ? payload_hash(pkt->payload, pkt->payload_len) : 0,
    };
    return a;
}

uint64_t payload_hash(const uint8_t *p, size_t len)
{
    return (uint64_t)len << 32 | roce_crc32(0, p, len);
}

/* For each host, links all directions with a responder on this host, in ascending order of their
 * indices. */
static void list_directions(struct session *session)
{
    for (size_t i = 0; i < session->host_cnt; i++)
        session->host[i].first_dir = KEYMAP_NONE;
    for (size_t i = session->dir_cnt; i-- > 0;) {
        struct responder_host *host = &session->host[session->dir[i].host];

        session->dir[i].next_of_host = host->first_dir;
        host->first_dir = (uint32_t)i;
    }
}

int session_infer(struct session *session, const struct trace *trace,
                  const struct connections *connections, const struct session_options *options,
                  struct error *error)
{
    int rc = 0;

    memset(session, 0, sizeof(*session));
    session->trace = trace;
    session->watch = options->watch;
    session->memory_log = options->memory_log;
    session->order_effort = options->order_effort;
    for (size_t i = 0; rc == 0 && i < connections->dir_cnt; i++)
        rc = split_runs_add(session, &connections->dir[i]);
    if (rc != 0)
        return error_set(error, "%s: no memory", trace->name);
    list_directions(session);
    return 0;
}

void session_free(struct session *session)
{
    for (size_t i = 0; i < session->dir_cnt; i++) {
        split_runs_free(&session->dir[i]);
        free(session->dir[i].response);
        free(session->dir[i].advance);
    }
    for (size_t i = 0; i < session->host_cnt; i++)
        shadow_free(&session->host[i].memory);
    for (size_t i = 0; i < session->kept_cnt; i++)
        free(session->kept[i]);
    free(session->dir);
    free(session->host);
    free(session->kept);
    memset(session, 0, sizeof(*session));
}
