/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/from_cm.h"

#include <inttypes.h>
#include <string.h>
#include "engine/cm/cm_replay.h"

struct source {
    struct from_drill *d;
    const struct cm_exchanges *exchanges;
    const struct cm_exchange *x;
    enum cm_role role;
    uint16_t port;
};

/* Fields of a CM message that the drill copies from the capture. For all other fields, the drill
 * has its own values. */
static const char *const taken[] = {
    "service_id",      "responder_resources",
    "initiator_depth", "starting_psn",
    "retry_count",     "mtu",
    "rnr_retry_count", "message",
    "reason",          "status",
    "max_cm_retries",
};

/* Prints the fields of a message that differ from zero. */
static void print_fields(const struct roce_cm_msg *msg, FILE *out)
{
    const struct roce_hdr_info *info = roce_cm_info(msg->kind);
    uint8_t mad[ROCE_MAD_SIZE];

    if (roce_cm_msg_build(msg, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return;
    for (unsigned i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        const struct roce_field *field = roce_field_find(info, taken[i]);
        uint64_t value = field ? roce_field_get(field, mad + ROCE_MAD_LEN) : 0;

        if (field)
            fprintf(out, field->width == 64 ? " %s=0x%016" PRIx64 : " %s=%" PRIu64, taken[i],
                    value);
    }
}

static int on_receive(void *ctx, uint32_t pkt)
{
    struct source *s = ctx;
    struct roce_cm_msg msg;
    FILE *out = from_line(s->d);

    if (!out)
        return -1;
    cm_exchange_message(s->exchanges->trace, pkt, &msg);
    fprintf(out, "< CM %s", roce_cm_name(msg.kind));
    print_fields(&msg, out);
    return from_line_end(s->d, s->exchanges->trace->pkt[pkt].frame,
                         (struct from_meaning){.verb = false});
}

static int on_act(void *ctx, uint32_t pkt)
{
    struct source *s = ctx;
    struct roce_cm_msg msg;
    FILE *out = from_line(s->d);

    if (!out)
        return -1;
    cm_exchange_message(s->exchanges->trace, pkt, &msg);
    switch (msg.kind) {
    case ROCE_CM_REQ:
        fprintf(out, "connect A port %u retry %u rnr-retry %u rd-atomic %u resources %u", s->port,
                msg.req.retry_count, msg.req.rnr_retry_count, msg.req.initiator_depth,
                msg.req.responder_resources);
        break;
    case ROCE_CM_REP:
        fprintf(out, "accept A rd-atomic %u resources %u", msg.rep.initiator_depth,
                msg.rep.responder_resources);
        break;
    case ROCE_CM_RTU: fputs("establish", out); break;
    case ROCE_CM_REJ: fprintf(out, "reject reason %u", msg.rej.reason); break;
    default: fputs("disconnect", out); break;
    }
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

static int on_timer(void *ctx)
{
    struct source *s = ctx;

    return from_wait(s->d, 0, 0);
}

/* Records the CM messages of the recorded end that the device replaces. Returns 1 if this end
 * rejected the request because no program listened, 0 if not, or -1 and an error. */
static int note_messages(struct source *s)
{
    bool no_listener = false;

    for (size_t i = 0; i < s->x->cnt; i++) {
        const struct trace_packet *p = &s->exchanges->trace->pkt[s->x->pkt[i]];
        struct roce_cm_msg msg;

        if (!cm_exchange_is_from(s->exchanges, s->x, s->role, i))
            continue;
        cm_exchange_message(s->exchanges->trace, s->x->pkt[i], &msg);
        no_listener |=
            (msg.kind == ROCE_CM_REJ && msg.rej.reason == ROCE_CM_REJ_INVALID_SERVICE_ID) ||
            (msg.kind == ROCE_CM_SIDR_REP && msg.sidr_rep.status == 1);
        if (expected_lines_record(&s->d->lines, -1, 0, msg.kind, p->frame) != 0)
            return from_fail(s->d, "no memory");
    }
    return no_listener;
}

static int add_head(struct source *s, uint32_t exchange)
{
    FILE *out = from_head(s->d);

    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out,
            "purpose  the %s end of CM exchange %u of %s behaves like the software RNIC\n"
            "rules    ALL-CM-223\n"
            "needs    cm%s\n"
            "role     %s\n",
            s->role == CM_ACTIVE ? "active" : "passive", exchange + 1, s->d->file,
            s->x->sidr ? " ud" : "", s->role == CM_ACTIVE ? "requester" : "responder");
    if (s->x->addr[0][0] || s->x->addr[0][1])
        fputs("ip       = 6\n", out);
    fputs("\nqp A rc state INIT\n", out);
    from_head_end(s->d);
    return 0;
}

int from_cm(struct from_drill *d, struct cm_exchanges *exchanges, uint32_t exchange,
            enum cm_role role)
{
    struct source s = {.d = d,
                       .exchanges = exchanges,
                       .x = &exchanges->at[exchange],
                       .role = role,
                       .port = (uint16_t)exchanges->at[exchange].service_id};
    const struct cm_replay_watch watch = {
        .ctx = &s, .receive = on_receive, .act = on_act, .timer = on_timer};
    bool tcp = s.x->service_id == roce_cm_sid(ROCE_CM_PS_TCP, s.port);
    int no_listener;
    FILE *out;

    snprintf(d->what, sizeof(d->what), "exchange %u", exchange + 1);
    no_listener = note_messages(&s);
    if (no_listener < 0 || add_head(&s, exchange) != 0)
        return -1;
    if (!(no_listener && role == CM_PASSIVE) && (!tcp || s.x->sidr))
        return from_fail(d, "a drill can offer and use only the service IDs of TCP ports");
    if (role == CM_PASSIVE && !no_listener) {
        out = from_line(d);
        if (!out)
            return from_fail(d, "no memory");
        fprintf(out, "listen port %u", s.port);
        if (from_line_end(d, 0, (struct from_meaning){.verb = true}) != 0)
            return -1;
    }
    if (cm_replay_end(exchanges, exchange, role, &watch) != 0)
        return from_fail(d, "no memory");
    if (exchanges->at[exchange].end[role].skip)
        return from_fail(d, exchanges->at[exchange].end[role].skip);
    return 0;
}
