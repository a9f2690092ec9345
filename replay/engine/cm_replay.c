/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/cm_replay.h"

#include <stdlib.h>
#include <string.h>
#include "cm/cm.h"

#define TIME_BASE UINT64_C(1000000000)

/* Timers that may have to fire before ours repeats a message. */
#define TIMERS_MAX 3u

/* Messages of ours that wait to be matched. */
#define SENT_MAX 128u

/* Transaction ids that are rebound. */
#define TIDS_MAX 32u

/* SIDR has no timeout of its own on the wire: 4 s, and never too often. */
#define SIDR_TIMEOUT 20
#define SIDR_RETRIES 15

struct sent_mad {
    struct roce_cm_msg msg;
    uint8_t bytes[ROCE_MAD_SIZE];
    bool used;
};

struct stage {
    struct exchanges *xs;
    struct exchange *x;
    uint32_t idx;
    enum exchange_role role;
    struct exchange_end *end;
    struct rnic_cm *cm;
    struct rnic_cm_id *listener;
    struct rnic_cm_id *id; /* of the exchange; passive: once the request came */
    struct rnic_cm_addr addr;
    struct sent_mad *sent;
    size_t sent_cnt;
    struct {
        uint64_t recorded, ours;
    } tid[TIDS_MAX];
    size_t tid_cnt;
    rnic_time now;
    uint8_t *lost;              /* for each message: 1 lost, 2 it came after `after` */
    size_t *after;              /* for a late one: index of our message */
    bool seen[ROCE_CM_CNT];     /* kinds that our end has sent */
    bool got[ROCE_CM_CNT];      /* kinds that our end got */
    uint32_t last[ROCE_CM_CNT]; /* index of our latest of a kind */
};

/* ---- the recorded messages ---------------------------------------------------------------------
 */

static bool is_ours(const struct stage *st, size_t i)
{
    return exchange_is_from(st->xs, st->x, st->role, i);
}

static enum roce_cm kind_of(const struct stage *st, size_t i)
{
    struct roce_cm_msg msg;

    exchange_message(st->xs->trace, st->x->pkt[i], &msg);
    return msg.kind;
}

/* Whether a message of kind `answer` answers one of kind `kind`. */
static bool answers(enum roce_cm answer, enum roce_cm kind)
{
    switch (kind) {
    case ROCE_CM_REQ:
    case ROCE_CM_REP:
        return answer == (kind == ROCE_CM_REQ ? ROCE_CM_REP : ROCE_CM_RTU) || answer == ROCE_CM_REJ;
    case ROCE_CM_DREQ: return answer == ROCE_CM_DREP;
    case ROCE_CM_SIDR_REQ: return answer == ROCE_CM_SIDR_REP;
    default: return false;
    }
}

/* What our end sends again is not answered yet: answers captured before that never came. */
static void find_lost(struct stage *st)
{
    const struct exchange *x = st->x;

    for (size_t j = 0; j < x->cnt; j++) {
        enum roce_cm kind = kind_of(st, j);
        size_t i = j, later;
        bool asked = false, answered = false;

        if (!is_ours(st, j))
            continue;
        while (i > 0 && !(is_ours(st, i - 1) && kind_of(st, i - 1) == kind)) {
            i--;
            asked |= !is_ours(st, i) && answers(kind, kind_of(st, i));
        }
        if (i > 0 && !asked)
            for (size_t k = i; k < j; k++)
                if (!is_ours(st, k) && answers(kind_of(st, k), kind))
                    st->lost[k] = 1;
        /* Who sends a DREQ has not got one: it was lost, or the two crossed each other. */
        if (kind != ROCE_CM_DREQ || i > 0)
            continue;
        for (size_t k = 0; k < j; k++)
            answered |= is_ours(st, k) && kind_of(st, k) == ROCE_CM_DREP;
        for (later = j + 1; later < x->cnt; later++)
            if (kind_of(st, later) == (is_ours(st, later) ? ROCE_CM_DREP : ROCE_CM_DREQ))
                break;
        for (size_t k = 0; k < j && !answered; k++)
            if (!is_ours(st, k) && kind_of(st, k) == ROCE_CM_DREQ) {
                st->lost[k] = later < x->cnt && is_ours(st, later) ? 2 : 1;
                st->after[k] = j;
            }
    }
}

/* ---- our CM ------------------------------------------------------------------------------------
 */

/* The service that was asked for was not there (R232). */
static bool nobody_listens(const struct stage *st)
{
    for (size_t i = 0; i < st->x->cnt; i++) {
        struct roce_cm_msg msg;

        exchange_message(st->xs->trace, st->x->pkt[i], &msg);
        if (is_ours(st, i) &&
            ((msg.kind == ROCE_CM_REJ && msg.rej.reason == ROCE_CM_REJ_INVALID_SERVICE_ID) ||
             (msg.kind == ROCE_CM_SIDR_REP && msg.sidr_rep.status == 1)))
            return true;
    }
    return false;
}

static const char *stage_open(struct stage *st)
{
    struct roce_cm_msg first;
    struct rnic_cm_attr attr = {.seed = {1, 2}};
    int rc = 0;

    exchange_message(st->xs->trace, st->x->pkt[0], &first);
    if (first.kind == ROCE_CM_REQ && st->role == EXCHANGE_ACTIVE)
        attr.ca_guid = first.req.local_ca_guid;
    memcpy(st->addr.local, st->x->addr[st->role], 16);
    memcpy(st->addr.remote, st->x->addr[!st->role], 16);
    st->cm = rnic_cm_new(&attr);
    st->sent = calloc(SENT_MAX, sizeof(*st->sent));
    st->lost = calloc(st->x->cnt + 1, 1);
    st->after = calloc(st->x->cnt + 1, sizeof(*st->after));
    if (!st->cm || !st->sent || !st->lost || !st->after)
        return "no memory for the communication manager";
    if (st->role == EXCHANGE_ACTIVE) {
        st->id = rnic_cm_id_new(st->cm, NULL);
        return st->id ? NULL : "no memory for the communication manager";
    }
    if (nobody_listens(st))
        return NULL;
    st->listener = rnic_cm_id_new(st->cm, NULL);
    if (st->listener)
        rc = rnic_cm_listen(st->listener, st->x->service_id, NULL);
    return st->listener && rc == 0 ? NULL : "no memory for the communication manager";
}

static void stage_close(struct stage *st)
{
    rnic_cm_del(st->cm);
    free(st->sent);
    free(st->lost);
    free(st->after);
}

/* What our CM has sent and told. */
static void drain(struct stage *st)
{
    struct rnic_cm_event event;
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];

    while (rnic_cm_event(st->cm, &event))
        if ((event.type == RNIC_CM_REQUEST || event.type == RNIC_CM_SIDR_REQUEST) && !st->id)
            st->id = event.id;
    while (rnic_cm_output(st->cm, mad, &addr)) {
        struct sent_mad *s = &st->sent[st->sent_cnt];

        if (st->sent_cnt == SENT_MAX || roce_cm_msg_parse(&s->msg, mad, sizeof(mad), sizeof(mad)))
            continue;
        memcpy(s->bytes, mad, sizeof(mad));
        s->used = false;
        st->sent_cnt++;
    }
}

/* ---- what comes in -----------------------------------------------------------------------------
 */

static void put_field(uint8_t *mad, enum roce_cm kind, const char *name, uint32_t value)
{
    const struct roce_field *field = roce_field_find(roce_cm_info(kind), name);

    if (field)
        roce_field_put(field, mad + ROCE_MAD_LEN, value);
}

static uint64_t rebound(const struct stage *st, uint64_t tid)
{
    for (size_t i = st->tid_cnt; i-- > 0;)
        if (st->tid[i].recorded == tid)
            return st->tid[i].ours;
    return tid;
}

static void rebind(struct stage *st, uint64_t recorded, uint64_t ours)
{
    if (st->tid_cnt < TIDS_MAX) {
        st->tid[st->tid_cnt].recorded = recorded;
        st->tid[st->tid_cnt++].ours = ours;
    }
}

/* A message from the other end, with the ids of our end in place of the recorded. */
static void give(struct stage *st, size_t i)
{
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];

    exchange_message(st->xs->trace, st->x->pkt[i], &msg);
    st->got[msg.kind] = true;
    msg.mad.tid = rebound(st, msg.mad.tid);
    if (roce_cm_msg_build(&msg, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return;
    /* The RTU was not captured, but who sends a DREQ was connected. */
    if (msg.kind == ROCE_CM_DREQ && st->role == EXCHANGE_PASSIVE && !st->got[ROCE_CM_RTU] && st->id)
        rnic_cm_comm_est(st->id, st->now);
    if (st->id && st->x->sidr && st->role == EXCHANGE_ACTIVE)
        put_field(mad, msg.kind, "request_id", rnic_cm_id_local(st->id));
    else if (st->id && !st->x->sidr)
        put_field(mad, msg.kind, "remote_comm_id", rnic_cm_id_local(st->id));
    rnic_cm_input(st->cm, mad, sizeof(mad), &st->addr, st->now);
    drain(st);
}

/* ---- what our end does -------------------------------------------------------------------------
 */

/* What must have come, or gone out, before the recorded end can have sent this. */
static bool is_explained(const struct stage *st, enum roce_cm kind)
{
    switch (kind) {
    case ROCE_CM_REP: return st->got[ROCE_CM_REQ];
    case ROCE_CM_RTU: return st->got[ROCE_CM_REP] && st->seen[ROCE_CM_REQ];
    case ROCE_CM_REJ: return st->got[ROCE_CM_REQ] || st->got[ROCE_CM_REP];
    case ROCE_CM_DREQ: return st->seen[st->role == EXCHANGE_ACTIVE ? ROCE_CM_RTU : ROCE_CM_REP];
    case ROCE_CM_DREP:
        return st->got[ROCE_CM_DREQ] &&
               (st->role == EXCHANGE_ACTIVE ? st->seen[ROCE_CM_RTU] : st->seen[ROCE_CM_REP]);
    case ROCE_CM_SIDR_REP: return st->got[ROCE_CM_SIDR_REQ];
    default: return true;
    }
}

/* Does what the recorded program did. */
static void act(struct stage *st, const struct roce_cm_msg *msg)
{
    size_t len;
    const uint8_t *data = roce_cm_private_data(msg, &len);

    if (!st->id)
        return;
    switch (msg->kind) {
    case ROCE_CM_REQ: rnic_cm_connect(st->id, &msg->req, &st->addr, st->now); break;
    case ROCE_CM_REP: rnic_cm_accept(st->id, &msg->rep, st->now); break;
    case ROCE_CM_RTU: rnic_cm_establish(st->id, data, len, st->now); break;
    case ROCE_CM_REJ:
        rnic_cm_reject(st->id, (enum roce_cm_rej_reason)msg->rej.reason, data, len, st->now);
        break;
    case ROCE_CM_DREQ:
        /* The RTU was not captured, but data was taken for it (R055). */
        if (st->role == EXCHANGE_PASSIVE && !st->got[ROCE_CM_RTU])
            rnic_cm_comm_est(st->id, st->now);
        rnic_cm_disconnect(st->id, data, len, st->now);
        break;
    case ROCE_CM_DREP: rnic_cm_disconnect(st->id, data, len, st->now); break;
    case ROCE_CM_SIDR_REQ:
        rnic_cm_sidr_ask(st->id, &msg->sidr_req, SIDR_TIMEOUT, SIDR_RETRIES, &st->addr, st->now);
        break;
    case ROCE_CM_SIDR_REP: rnic_cm_sidr_answer(st->id, &msg->sidr_rep, st->now); break;
    default: break;
    }
    drain(st);
}

static struct sent_mad *find_sent(struct stage *st, enum roce_cm kind)
{
    for (size_t i = 0; i < st->sent_cnt; i++)
        if (!st->sent[i].used && st->sent[i].msg.kind == kind)
            return &st->sent[i];
    return NULL;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Names of fields live as long as the tables: "cm.req.mtu" would have to be kept. */
static void compare_field(const struct stage *st, const struct roce_field *field,
                          const uint8_t *recorded, const uint8_t *ours, struct field_diffs *d)
{
    uint64_t want, is;

    if (field->width > 64) {
        if (memcmp(recorded + field->byte, ours + field->byte, field->width / 8) != 0)
            fields_differ(d, field->name, "as captured", "other bytes");
        return;
    }
    want = roce_field_get(field, recorded);
    is = roce_field_get(field, ours);
    if (strcmp(field->name, "local_comm_id") == 0)
        want = want == st->x->id[st->role] && want && st->id ? rnic_cm_id_local(st->id) : want;
    if (strcmp(field->name, "request_id") == 0 && st->role == EXCHANGE_ACTIVE && st->id)
        want = rnic_cm_id_local(st->id);
    fields_differ_num(d, field->name, "%x", want, is);
}

static void compare(struct stage *st, const struct roce_cm_msg *want, const struct sent_mad *ours,
                    struct field_diffs *d)
{
    const struct roce_hdr_info *info = roce_cm_info(want->kind);
    uint8_t mad[ROCE_MAD_SIZE];

    if (roce_cm_msg_build(want, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return;
    for (unsigned i = 0; i < info->field_cnt; i++)
        if (!begins_with(info->fields[i].name, "resv"))
            compare_field(st, &info->fields[i], mad + ROCE_MAD_LEN, ours->bytes + ROCE_MAD_LEN, d);
    fields_differ_num(d, "mad.attr_id", "%x", want->mad.attr_id, ours->msg.mad.attr_id);
    if (want->kind == ROCE_CM_REQ || want->kind == ROCE_CM_DREQ || want->kind == ROCE_CM_SIDR_REQ)
        rebind(st, want->mad.tid, ours->msg.mad.tid);
    else
        fields_differ_num(d, "mad.tid", "%x", rebound(st, want->mad.tid), ours->msg.mad.tid);
}

static int report(struct stage *st, uint32_t pkt, const struct field_diffs *d, const char *reason)
{
    return exchange_report(st->xs, st->idx, st->role, pkt, d, reason);
}

/* ---- a message of our end ----------------------------------------------------------------------
 */

/* Whether the capture has, since our latest of this kind, what makes our end send it again without
 * a timer. */
static bool asked_again(const struct stage *st, size_t at, enum roce_cm kind)
{
    for (size_t i = st->last[kind] + 1; i < at; i++)
        if (!is_ours(st, i) && answers(kind, kind_of(st, i)))
            return true;
    return false;
}

static bool has_timer(enum roce_cm kind)
{
    return kind == ROCE_CM_REQ || kind == ROCE_CM_REP || kind == ROCE_CM_DREQ ||
           kind == ROCE_CM_SIDR_REQ;
}

static struct sent_mad *produce(struct stage *st, const struct roce_cm_msg *msg, bool again)
{
    struct sent_mad *ours = find_sent(st, msg->kind);

    if (!ours && !again) {
        act(st, msg);
        ours = find_sent(st, msg->kind);
    }
    for (unsigned i = 0; !ours && again && i < TIMERS_MAX; i++) {
        rnic_time at = rnic_cm_deadline(st->cm);

        if (at == RNIC_NEVER)
            break;
        st->now = at > st->now ? at : st->now;
        rnic_cm_expire(st->cm, st->now);
        drain(st);
        ours = find_sent(st, msg->kind);
    }
    return ours;
}

static int expect(struct stage *st, size_t at)
{
    struct field_diffs d = {.cnt = 0};
    struct roce_cm_msg msg;
    struct sent_mad *ours;
    bool again;

    exchange_message(st->xs->trace, st->x->pkt[at], &msg);
    if (msg.kind == ROCE_CM_MRA || msg.kind == ROCE_CM_LAP || msg.kind == ROCE_CM_APR) {
        st->end->unasked++;
        return 0;
    }
    again = st->seen[msg.kind];
    if (!is_explained(st, msg.kind) ||
        (again && !has_timer(msg.kind) && !asked_again(st, at, msg.kind))) {
        st->end->stopped = "the capture lacks a message before it";
        return 0;
    }
    ours = produce(st, &msg, again);
    st->seen[msg.kind] = true;
    st->last[msg.kind] = (uint32_t)at;
    st->end->compared++;
    if (!ours) {
        fields_differ(&d, "message", roce_cm_name(msg.kind), "none");
        st->end->stopped = "our CM went another way";
        return report(st, st->x->pkt[at], &d, "our CM does not send it");
    }
    ours->used = true;
    compare(st, &msg, ours, &d);
    return report(st, st->x->pkt[at], &d, "our CM sends this message differently");
}

/* ---- all ---------------------------------------------------------------------------------------
 */

static int play(struct stage *st)
{
    const struct trace *trace = st->xs->trace;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < st->x->cnt && !st->end->stopped; i++) {
        rnic_time now = trace->pkt[st->x->pkt[i]].time - trace->pkt[0].time + TIME_BASE;

        st->now = now > st->now ? now : st->now;
        if (!is_ours(st, i)) {
            st->end->lost += st->lost[i] == 1;
            if (st->lost[i] == 0)
                give(st, i);
            continue;
        }
        rc = expect(st, i);
        for (size_t k = 0; k < i; k++)
            if (st->lost[k] == 2 && st->after[k] == i)
                give(st, k);
    }
    for (size_t i = 0; i < st->sent_cnt; i++)
        st->end->beyond += !st->sent[i].used;
    return rc;
}

int exchange_play(struct exchanges *xs, uint32_t idx, enum exchange_role role)
{
    struct exchange *x = &xs->exchange[idx];
    struct stage *st = calloc(1, sizeof(*st));
    int rc = 0;

    if (!st)
        return -1;
    *st = (struct stage){
        .xs = xs, .x = x, .idx = idx, .role = role, .end = &x->end[role], .now = TIME_BASE};
    st->end->skip = stage_open(st);
    if (!st->end->skip) {
        find_lost(st);
        rc = play(st);
    }
    if (!st->end->skip && st->end->compared == 0)
        st->end->skip = st->end->stopped ? st->end->stopped : "the capture has no message of it";
    st->end->verdict = st->end->diff_cnt ? VERDICT_FAIL
                       : st->end->skip   ? VERDICT_SKIPPED
                                         : VERDICT_PASS;
    stage_close(st);
    free(st);
    return rc;
}
