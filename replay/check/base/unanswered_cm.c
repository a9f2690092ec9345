/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/unanswered_cm.h"

#include <inttypes.h>
#include <string.h>
#include "check/base/filter_text.h"
#include "util/strbuf.h"
#include "wire/pkt.h"

#define LINE_LEN 512
/* If a CM message is captured twice within this time (ns), the second is a copy, not a
 * retransmission. */
#define COPY_NS 1000000u

static bool is_entry(const struct unanswered_cm_entry *one, enum roce_cm kind, uint32_t id,
                     const uint8_t from[16], const uint8_t to[16])
{
    return one->tries && one->kind == kind && one->id == id && memcmp(one->from, from, 16) == 0 &&
           memcmp(one->to, to, 16) == 0;
}

/* Returns the list entry of a CM message. For a new message, uses a free entry. If the list is
 * full, overwrites the oldest message that was sent only once or, if there is none, the oldest of
 * all. */
static struct unanswered_cm_entry *slot_for(struct unanswered_cm *list, enum roce_cm kind,
                                            uint32_t id, const uint8_t from[16],
                                            const uint8_t to[16])
{
    struct unanswered_cm_entry *found = &list->one[0];

    for (unsigned i = 0; i < UNANSWERED_CM_MAX; i++) {
        struct unanswered_cm_entry *one = &list->one[i];
        bool once = one->tries < 2, found_once = found->tries < 2;

        if (is_entry(one, kind, id, from, to))
            return one;
        if (once != found_once ? once : one->last_time < found->last_time)
            found = one;
    }
    list->reps -= found->tries && found->kind == ROCE_CM_REP;
    list->reps += kind == ROCE_CM_REP;
    *found = (struct unanswered_cm_entry){.kind = kind, .id = id};
    memcpy(found->from, from, 16);
    memcpy(found->to, to, 16);
    return found;
}

static struct unanswered_cm_entry *add_attempt(struct unanswered_cm *list, enum roce_cm kind,
                                               uint32_t id, uint64_t service_id,
                                               const struct roce_pkt *pkt, uint32_t frame,
                                               uint64_t time)
{
    struct unanswered_cm_entry *one;
    uint8_t from[16], to[16];

    roce_pkt_addr(pkt, from, to);
    one = slot_for(list, kind, id, from, to);
    if (one->tries == 0) {
        one->first_frame = frame;
        one->first_time = time;
        one->service_id = service_id;
        one->v1 = !roce_pkt_has(pkt, ROCE_HDR_UDP);
    }
    one->tries += one->tries < UINT32_MAX;
    one->last_frame = frame;
    one->last_time = time;
    return one;
}

static void drop_entry(struct unanswered_cm *list, struct unanswered_cm_entry *one)
{
    list->reps -= one->kind == ROCE_CM_REP;
    *one = (struct unanswered_cm_entry){0};
}

static void drop_answered(struct unanswered_cm *list, enum roce_cm kind, uint32_t id,
                          const struct roce_pkt *pkt)
{
    uint8_t from[16], to[16];

    roce_pkt_addr(pkt, from, to);
    for (unsigned i = 0; i < UNANSWERED_CM_MAX; i++)
        if (is_entry(&list->one[i], kind, id, to, from))
            drop_entry(list, &list->one[i]);
}

static void add_message(struct unanswered_cm *list, const struct roce_cm_msg *cm,
                        const struct roce_pkt *pkt, uint32_t frame, uint64_t time)
{
    switch (cm->kind) {
    case ROCE_CM_REQ:
        (void)add_attempt(list, ROCE_CM_REQ, cm->req.local_comm_id, cm->req.service_id, pkt, frame,
                          time);
        return;
    case ROCE_CM_SIDR_REQ:
        (void)add_attempt(list, ROCE_CM_SIDR_REQ, cm->sidr_req.request_id, cm->sidr_req.service_id,
                          pkt, frame, time);
        return;
    case ROCE_CM_MRA:
        drop_answered(list, ROCE_CM_REQ, cm->mra.remote_comm_id, pkt);
        drop_answered(list, ROCE_CM_REP, cm->mra.remote_comm_id, pkt);
        return;
    case ROCE_CM_REJ:
        drop_answered(list, ROCE_CM_REQ, cm->rej.remote_comm_id, pkt);
        drop_answered(list, ROCE_CM_REP, cm->rej.remote_comm_id, pkt);
        return;
    case ROCE_CM_REP:
        drop_answered(list, ROCE_CM_REQ, cm->rep.remote_comm_id, pkt);
        add_attempt(list, ROCE_CM_REP, cm->rep.local_comm_id, 0, pkt, frame, time)->qpn =
            cm->rep.local_qpn;
        return;
    case ROCE_CM_RTU: drop_answered(list, ROCE_CM_REP, cm->rtu.remote_comm_id, pkt); return;
    case ROCE_CM_DREQ: drop_answered(list, ROCE_CM_REP, cm->dreq.remote_comm_id, pkt); return;
    case ROCE_CM_SIDR_REP:
        drop_answered(list, ROCE_CM_SIDR_REQ, cm->sidr_rep.request_id, pkt);
        return;
    default: return;
    }
}

void unanswered_cm_add(struct unanswered_cm *list, const struct roce_cm_msg *cm,
                       const struct roce_pkt *pkt, uint32_t frame, uint64_t time)
{
    add_message(list, cm, pkt, frame, time);
    list->filter = unanswered_cm_filter(list);
    list->changes++;
}

uint64_t unanswered_cm_filter(const struct unanswered_cm *list)
{
    uint64_t filter = 0;

    for (unsigned i = 0; i < UNANSWERED_CM_MAX; i++)
        if (list->one[i].tries && list->one[i].kind == ROCE_CM_REP)
            filter |= UINT64_C(1) << (list->one[i].qpn & 63);
    return filter;
}

void unanswered_cm_note_packet(struct unanswered_cm *list, const struct roce_pkt *pkt)
{
    uint8_t from[16], to[16];

    if (list->reps == 0)
        return;
    roce_pkt_addr(pkt, from, to);
    for (unsigned i = 0; i < UNANSWERED_CM_MAX; i++) {
        struct unanswered_cm_entry *one = &list->one[i];

        if (one->tries && one->kind == ROCE_CM_REP && one->qpn == pkt->bth.dest_qp &&
            memcmp(one->from, to, 16) == 0 && memcmp(one->to, from, 16) == 0)
            drop_entry(list, one);
    }
}

bool unanswered_cm_is_repeated(const struct unanswered_cm_entry *one)
{
    return one->tries > 1 && one->last_time >= one->first_time + COPY_NS;
}

uint32_t unanswered_cm_cnt(const struct unanswered_cm *list)
{
    uint32_t cnt = 0;

    for (unsigned i = 0; i < UNANSWERED_CM_MAX; i++)
        cnt += unanswered_cm_is_repeated(&list->one[i]);
    return cnt;
}

static void print_time(FILE *out, uint32_t frame, uint64_t time, uint64_t begin, const char *which)
{
    fprintf(out, "     frame %-6u %12.6f s  the %s\n", frame,
            time > begin ? (double)(time - begin) / 1e9 : 0.0, which);
}

static void print_filter(FILE *out, const struct unanswered_cm_entry *one)
{
    char filter[96];

    snprintf(filter, sizeof(filter), "roce.mad.attr_id == 0x%02x && frame.number in {%u..%u}",
             ROCE_CM_ATTR_FIRST + (unsigned)one->kind, one->first_frame, one->last_frame);
    filter_text_print(out, "", filter);
}

void unanswered_cm_print(FILE *out, const struct unanswered_cm_entry *one, uint64_t begin)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, one->kind == ROCE_CM_REP ? "  no RTU of " : "  no response of ");
    strbuf_add_addr(&t, one->to);
    strbuf_addf(&t, " to the %s of ", roce_cm_name(one->kind));
    strbuf_add_addr(&t, one->from);
    if (one->kind != ROCE_CM_REP)
        strbuf_addf(&t, " for service 0x%016" PRIx64, one->service_id);
    strbuf_addf(&t, " was captured; the message was sent %u times in ", one->tries);
    strbuf_add_duration(&t,
                        one->last_time > one->first_time ? one->last_time - one->first_time : 0);
    fprintf(out, "%s\n", buf);
    print_time(out, one->first_frame, one->first_time, begin, "first");
    print_time(out, one->last_frame, one->last_time, begin, "last");
    t = strbuf_of(buf, sizeof(buf));
    if (one->kind == ROCE_CM_REP) {
        strbuf_addf(&t, "     if the capture contains both directions, the connection was never "
                        "established: the RTU was lost, or ");
        strbuf_add_addr(&t, one->to);
        strbuf_addf(
            &t, " sent no RTU, because it dropped the REP or gave up. The accepting program gets "
                "RDMA_CM_EVENT_UNREACHABLE. Check whether the REP arrives at the connecting host, "
                "and how long the connecting program takes to answer with an RTU");
        fprintf(out, "%s\n", buf);
        print_filter(out, one);
        return;
    }
    strbuf_addf(&t, "     if the capture contains both directions, the peer did not respond, and "
                    "the connecting program gets RDMA_CM_EVENT_UNREACHABLE. Check whether ");
    strbuf_add_addr(&t, one->to);
    strbuf_addf(&t, " runs RoCE v%c on this GID and network, and whether the path drops %s",
                one->v1 ? '1' : '2', one->v1 ? "its Ethernet type 0x8915" : "UDP port 4791");
    fprintf(out, "%s\n", buf);
    print_filter(out, one);
}
