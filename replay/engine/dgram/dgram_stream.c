/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire/gid.h"

struct dgram_key {
    uint8_t addr[16];
    uint8_t peer[16]; /* address of the receiver of a UC stream; zero for UD */
    uint32_t encap;
    uint32_t svc;
    uint32_t qpn;
    uint32_t role;
};

/* ---- Finding the streams --------------------------------------------------------------------- */

static uint32_t stream_of(struct dgram_streams *streams, struct keymap *map,
                          const struct dgram_key *key)
{
    uint32_t cnt = map->cnt;
    uint32_t at;

    if (!VEC_GROW(streams->stream, streams->cnt, streams->cap))
        return KEYMAP_NONE;
    at = keymap_add(map, key);
    if (at == KEYMAP_NONE || at != cnt)
        return at;
    streams->stream[streams->cnt++] = (struct dgram_stream){.role = (enum dgram_role)key->role,
                                                            .svc = (enum roce_svc)key->svc,
                                                            .encap = (enum roce_encap)key->encap,
                                                            .qpn = key->qpn,
                                                            .verdict = VERDICT_SKIPPED};
    memcpy(streams->stream[at].addr, key->addr, 16);
    return at;
}

/* Adds packet `idx` to its stream of role `role`. Returns the index of the stream, or
 * KEYMAP_NONE if out of memory. */
static uint32_t add_packet(struct dgram_streams *streams, struct keymap *map, uint32_t idx,
                           enum dgram_role role)
{
    const struct trace *trace = streams->trace;
    const struct trace_flow *flow = &trace->flow[trace->pkt[idx].flow];
    bool receiver = role == DGRAM_RECEIVER;
    struct dgram_key key;
    struct dgram_stream *s;
    uint32_t at;

    memset(&key, 0, sizeof(key));
    memcpy(key.addr, receiver ? flow->dst : flow->src, 16);
    key.encap = flow->encap;
    key.svc = flow->svc;
    key.role = role;
    key.qpn = flow->dest_qp;
    if (flow->svc == ROCE_SVC_UC) {
        memcpy(key.peer, receiver ? flow->src : flow->dst, 16);
    } else if (!receiver) {
        struct roce_pkt pkt;

        trace_parse(&trace->pkt[idx], &pkt);
        key.qpn = pkt.deth.src_qp;
    }
    at = stream_of(streams, map, &key);
    if (at == KEYMAP_NONE)
        return at;
    s = &streams->stream[at];
    if (s->cnt == 0)
        memcpy(s->peer, receiver ? flow->src : flow->dst, 16);
    if (!VEC_GROW(s->pkt, s->cnt, s->cap))
        return KEYMAP_NONE;
    s->pkt[s->cnt++] = idx;
    return at;
}

static bool find_stream(struct dgram_streams *streams, bool receivers, bool senders)
{
    const struct trace *trace = streams->trace;
    struct keymap map;
    bool ok = true;

    keymap_init(&map, sizeof(struct dgram_key));
    for (uint32_t i = 0; ok && i < trace->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[i];
        enum roce_svc svc = trace->flow[p->flow].svc;

        streams->receiver[i] = KEYMAP_NONE;
        if (svc != ROCE_SVC_UC && svc != ROCE_SVC_UD)
            continue;
        if (receivers) {
            streams->receiver[i] = add_packet(streams, &map, i, DGRAM_RECEIVER);
            ok = streams->receiver[i] != KEYMAP_NONE;
        }
        if (ok && senders)
            ok = add_packet(streams, &map, i, DGRAM_SENDER) != KEYMAP_NONE;
    }
    keymap_free(&map);
    return ok;
}

/* ---- Inferring attributes -------------------------------------------------------------------- */

/* Sets the P_Key and the Q_Key of a stream to the values that most undamaged packets have (majority
 * algorithm of Boyer and Moore). */
static void derive_keys(const struct trace *trace, struct dgram_stream *s)
{
    uint32_t pkey_votes = 0, qkey_votes = 0;
    struct roce_pkt pkt;

    for (size_t i = 0; i < s->cnt; i++) {
        if (trace->pkt[s->pkt[i]].dropped)
            continue;
        trace_parse(&trace->pkt[s->pkt[i]], &pkt);
        if (pkey_votes == 0)
            s->pkey = pkt.bth.pkey;
        pkey_votes += pkt.bth.pkey == s->pkey ? 1 : (uint32_t)-1;
        if (!roce_pkt_has(&pkt, ROCE_HDR_DETH))
            continue;
        if (qkey_votes == 0)
            s->qkey = pkt.deth.qkey;
        qkey_votes += pkt.deth.qkey == s->qkey ? 1 : (uint32_t)-1;
    }
    if (s->svc == ROCE_SVC_UD && s->qpn == ROCE_QP_GSI)
        s->qkey = UINT32_C(0x80010000); /* the well-known Q_Key of QP1 (R171) */
}

static void derive_mtu(const struct trace *trace, struct dgram_stream *s)
{
    uint32_t longest = 0;

    for (size_t i = 0; i < s->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[s->pkt[i]];

        if (!p->dropped && p->payload_len > longest)
            longest = p->payload_len;
    }
    s->mtu = 256;
    while (s->mtu < longest && s->mtu < 4096)
        s->mtu *= 2;
}

static const char *unplayable(const struct trace *trace, const struct dgram_stream *s)
{
    bool any = false;

    if (s->encap != ROCE_ENCAP_V1 && s->encap != ROCE_ENCAP_V2_IP4 && s->encap != ROCE_ENCAP_V2_IP6)
        return "native InfiniBand: our RNIC supports only RoCE";
    if (s->qpn == 0 || (s->svc == ROCE_SVC_UC && s->qpn == ROCE_QP_GSI) ||
        (s->qpn == ROCE_QP_MULTICAST && (s->role == DGRAM_SENDER || !s->multicast)))
        return "the destination QP number is reserved";
    for (size_t i = 0; i < s->cnt; i++) {
        if (trace->pkt[s->pkt[i]].cut)
            return "the capture is truncated (snaplen): headers are missing";
        any |= !trace->pkt[s->pkt[i]].dropped;
    }
    if ((s->pkey & 0x7FFF) == 0 && any)
        return "the P_Key is 0, which never matches (ALL-RSP-049)";
    return any ? NULL : "damaged frames only";
}

/* Limit of the packets that our senders send although the capture lacks them. The limit of a stream
 * is ABSENT_PER_PACKET for each of its captured packets, plus its share of ABSENT_FREE, which is
 * divided equally among the UC sender streams. The limit bounds the time that a few captured
 * packets with distant PSNs or large RETH lengths can cost. */
#define ABSENT_PER_PACKET 16u
#define ABSENT_FREE       8192u

static void limit_absent(struct dgram_streams *streams)
{
    uint64_t senders = 0;

    for (size_t i = 0; i < streams->cnt; i++)
        senders += streams->stream[i].role == DGRAM_SENDER && streams->stream[i].svc == ROCE_SVC_UC;
    for (size_t i = 0; i < streams->cnt; i++)
        streams->stream[i].absent_max = ABSENT_PER_PACKET * (uint64_t)streams->stream[i].cnt +
                                        ABSENT_FREE / (senders ? senders : 1);
}

int dgram_streams_find(struct dgram_streams *streams, const struct trace *trace, bool receivers,
                       bool senders)
{
    memset(streams, 0, sizeof(*streams));
    streams->trace = trace;
    streams->receiver = malloc((trace->cnt + 1) * sizeof(*streams->receiver));
    if (!streams->receiver || !find_stream(streams, receivers, senders))
        return -1;
    for (size_t i = 0; i < streams->cnt; i++) {
        struct dgram_stream *s = &streams->stream[i];

        s->multicast = s->role == DGRAM_RECEIVER && roce_gid_is_multicast(s->addr);
        derive_keys(trace, s);
        derive_mtu(trace, s);
        s->skip = i < DGRAM_STREAMS_MAX ? unplayable(trace, s) : "too many QPs";
    }
    limit_absent(streams);
    return 0;
}

void dgram_streams_free(struct dgram_streams *streams)
{
    for (size_t i = 0; i < streams->cnt; i++)
        free(streams->stream[i].pkt);
    free(streams->stream);
    free(streams->receiver);
    free(streams->diff);
    memset(streams, 0, sizeof(*streams));
}

/* ---- Differences and verdicts ---------------------------------------------------------------- */

int dgram_streams_report(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                         const struct field_diffs *diffs, const char *reason)
{
    return dgram_streams_report_known(streams, stream, pkt, diffs, reason, NULL);
}

int dgram_streams_report_known(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                               const struct field_diffs *diffs, const char *reason,
                               const struct peer_quirk *known)
{
    struct dgram_stream *s = &streams->stream[stream];
    uint32_t *frames = known ? &s->known_frames : &s->diff_frames;

    if (diffs->cnt == 0)
        return 0;
    if ((*frames)++ >= DIFFS_MAX)
        return 0;
    for (unsigned i = 0; i < diffs->cnt; i++) {
        struct diff *d;

        if (!VEC_GROW(streams->diff, streams->diff_cnt, streams->diff_cap))
            return -1;
        d = &streams->diff[streams->diff_cnt++];
        *d = (struct diff){.dir = stream, .pkt = pkt, .request = EVENT_NONE, .known = known};
        field_diff_report(&diffs->at[i], reason, d);
    }
    return 0;
}

void dgram_streams_judge(struct dgram_streams *streams)
{
    for (size_t i = 0; i < streams->cnt; i++) {
        struct dgram_stream *s = &streams->stream[i];

        if (!s->skip && s->messages == 0)
            s->skip = s->role == DGRAM_SENDER
                          ? "the capture contains no complete message that can be posted"
                          : "the capture contains no complete message";
        s->verdict = s->diff_frames ? VERDICT_FAIL : s->skip ? VERDICT_SKIPPED : VERDICT_PASS;
    }
}

const char *dgram_role_name(enum dgram_role role)
{
    return role == DGRAM_RECEIVER ? "receiver" : "sender";
}
