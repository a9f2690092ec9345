/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/cm/cm_replay.h"

#include <stdlib.h>
#include <string.h>
#include "cm/cm.h"

#define TIME_BASE UINT64_C(1000000000) /* virtual time of the first packet, ns */

/* If the recorded CM retransmitted a message, the replay fires timers of our CM until our CM
 * retransmits it too, but at most this number of timers. */
#define TIMERS_MAX 3u

/* Maximum number of messages that our CM has sent and that no recorded message has matched yet. */
#define SENT_MAX 128u

/* Maximum number of transaction ids that are translated between the recorded messages and our
 * CM. */
#define TIDS_MAX 32u

/* SIDR messages contain no timeout and no retry limit. Our CM uses a timeout of 4 s, and a retry
 * limit that it never reaches. */
#define SIDR_TIMEOUT 20
#define SIDR_RETRIES 15

struct sent_mad {
    struct roce_cm_msg msg;
    uint8_t bytes[ROCE_MAD_SIZE];
    bool used;
};

/* State of the replay of one end of an exchange. Our CM replaces the CM of this end; comments call
 * it "our end". The peer is the other end. */
struct cm_replay_dev {
    const struct cm_replay_watch *watch; /* callbacks, or NULL */
    struct cm_exchanges *xs;
    struct cm_exchange *x;
    uint32_t idx;
    enum cm_role role;
    struct cm_exchange_end *end;
    struct rnic_cm *cm;
    struct rnic_cm_id *listener;
    struct rnic_cm_id *id; /* connection id in our CM; NULL for the passive end until the REQ
                            * arrives */
    struct rnic_cm_addr addr;
    struct sent_mad *sent;
    size_t sent_cnt;
    struct {
        uint64_t recorded, ours;
    } tid[TIDS_MAX];
    size_t tid_cnt;
    rnic_time now;
    uint8_t *lost;              /* for each message to our end. 0: our end received it in order.
                                 * 1: it was lost. 2: our end received it late, after message
                                 * `after` */
    size_t *after;              /* for each late message: index of the message of our end after
                                 * which the late message arrives */
    bool seen[ROCE_CM_CNT];     /* for each kind of message: our end has sent one */
    bool got[ROCE_CM_CNT];      /* for each kind of message: our end has received one */
    uint32_t last[ROCE_CM_CNT]; /* for each kind of message: index in the exchange of our end's
                                 * latest message of this kind */
};

/* ---- Recorded messages ----------------------------------------------------------------------- */

static bool is_ours(const struct cm_replay_dev *dev, size_t i)
{
    return cm_exchange_is_from(dev->xs, dev->x, dev->role, i);
}

static enum roce_cm kind_of(const struct cm_replay_dev *dev, size_t i)
{
    struct roce_cm_msg msg;

    cm_exchange_message(dev->xs->trace, dev->x->pkt[i], &msg);
    return msg.kind;
}

/* Returns whether a CM message of kind `answer` is a response to a CM message of kind `kind`. */
static bool answers_request(enum roce_cm answer, enum roce_cm kind)
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

/* Returns whether our end gave up its REQ with this message before a REP arrived. Such a REJ lacks
 * the communication ID of the peer. */
static bool gives_up_req(const struct cm_replay_dev *dev, const struct roce_cm_msg *msg)
{
    return msg->kind == ROCE_CM_REJ && dev->role == CM_ACTIVE && msg->rej.remote_comm_id == 0;
}

/* Marks earlier messages of the peer as lost if our end cannot have received them when it sent
 * message `j`. Before our end sends a REJ, it has received no REJ, RTU or DREQ. If the REJ gives up
 * a REQ, our end has received no REP. Before our end sends a DREQ, it has received no REJ. A REJ
 * that was captured before our end's REP reached our end after this REP. */
static void find_crossed(struct cm_replay_dev *dev, size_t j)
{
    bool crossed[ROCE_CM_CNT] = {[ROCE_CM_REJ] = true};
    struct roce_cm_msg msg;

    cm_exchange_message(dev->xs->trace, dev->x->pkt[j], &msg);
    for (size_t k = 0; k < j && msg.kind == ROCE_CM_REP; k++)
        if (!is_ours(dev, k) && kind_of(dev, k) == ROCE_CM_REJ) {
            dev->lost[k] = 2;
            dev->after[k] = j;
        }
    if (msg.kind != ROCE_CM_REJ && msg.kind != ROCE_CM_DREQ)
        return;
    crossed[ROCE_CM_RTU] = crossed[ROCE_CM_DREQ] = msg.kind == ROCE_CM_REJ;
    crossed[ROCE_CM_REP] = gives_up_req(dev, &msg);
    for (size_t k = 0; k < j; k++)
        if (!is_ours(dev, k) && crossed[kind_of(dev, k)])
            dev->lost[k] = 1;
}

/* Marks captured messages to our end as lost or late. If our end retransmits a message, it had not
 * received the answers that were captured before the retransmission. */
static void find_lost(struct cm_replay_dev *dev)
{
    const struct trace *trace = dev->xs->trace;
    const struct cm_exchange *x = dev->x;

    for (size_t j = 0; j < x->cnt; j++) {
        enum roce_cm kind = kind_of(dev, j);
        size_t i = j, later;
        bool asked = false, answered = false, overtaken = false;

        if (!is_ours(dev, j))
            continue;
        find_crossed(dev, j);
        while (i > 0 && !(is_ours(dev, i - 1) && kind_of(dev, i - 1) == kind)) {
            i--;
            asked |= !is_ours(dev, i) && answers_request(kind, kind_of(dev, i));
        }
        if (i > 0 && !asked)
            for (size_t k = i; k < j; k++)
                if (!is_ours(dev, k) && answers_request(kind_of(dev, k), kind))
                    dev->lost[k] = 1;
        /* After our end received a DREQ, it sends no DREQ. So an earlier captured DREQ of the peer
         * was lost, or reached our end after our DREQ. If our DREP was captured before our DREQ,
         * either the DREP overtook our DREQ in the network (`overtaken`), or the peer's DREQ did
         * arrive first (`answered`). */
        if (kind != ROCE_CM_DREQ || i > 0)
            continue;
        for (size_t k = 0; k < j; k++)
            if (is_ours(dev, k) && kind_of(dev, k) == ROCE_CM_DREP) {
                overtaken =
                    trace_sent_before(trace, &trace->pkt[x->pkt[j]], &trace->pkt[x->pkt[k]]);
                answered = !overtaken;
            }
        for (later = j + 1; later < x->cnt; later++)
            if (kind_of(dev, later) == (is_ours(dev, later) ? ROCE_CM_DREP : ROCE_CM_DREQ))
                break;
        for (size_t k = 0; k < j && !answered; k++)
            if (!is_ours(dev, k) && kind_of(dev, k) == ROCE_CM_DREQ) {
                dev->lost[k] = overtaken || (later < x->cnt && is_ours(dev, later)) ? 2 : 1;
                dev->after[k] = j;
            }
    }
}

/* ---- Output of our CM ------------------------------------------------------------------------ */

/* Returns whether the recorded passive end rejected the REQ because no program listened on the
 * service id (R232). */
static bool has_no_listener(const struct cm_replay_dev *dev)
{
    for (size_t i = 0; i < dev->x->cnt; i++) {
        struct roce_cm_msg msg;

        cm_exchange_message(dev->xs->trace, dev->x->pkt[i], &msg);
        if (is_ours(dev, i) &&
            ((msg.kind == ROCE_CM_REJ && msg.rej.reason == ROCE_CM_REJ_INVALID_SERVICE_ID) ||
             (msg.kind == ROCE_CM_SIDR_REP && msg.sidr_rep.status == 1)))
            return true;
    }
    return false;
}

static const char *cm_replay_dev_open(struct cm_replay_dev *dev)
{
    struct roce_cm_msg first;
    struct rnic_cm_attr attr = {.seed = {1, 2}};
    int rc = 0;

    cm_exchange_message(dev->xs->trace, dev->x->pkt[0], &first);
    if (first.kind == ROCE_CM_REQ && dev->role == CM_ACTIVE)
        attr.ca_guid = first.req.local_ca_guid;
    memcpy(dev->addr.local, dev->x->addr[dev->role], 16);
    memcpy(dev->addr.remote, dev->x->addr[!dev->role], 16);
    dev->cm = rnic_cm_new(&attr);
    dev->sent = malloc(SENT_MAX * sizeof(*dev->sent));
    dev->lost = calloc(dev->x->cnt + 1, 1);
    dev->after = calloc(dev->x->cnt + 1, sizeof(*dev->after));
    if (!dev->cm || !dev->sent || !dev->lost || !dev->after)
        return "no memory for the communication manager";
    if (dev->role == CM_ACTIVE) {
        dev->id = rnic_cm_id_new(dev->cm, NULL);
        return dev->id ? NULL : "no memory for the communication manager";
    }
    if (has_no_listener(dev))
        return NULL;
    dev->listener = rnic_cm_id_new(dev->cm, NULL);
    if (dev->listener)
        rc = rnic_cm_listen(dev->listener, dev->x->service_id, NULL);
    return dev->listener && rc == 0 ? NULL : "no memory for the communication manager";
}

static void cm_replay_dev_close(struct cm_replay_dev *dev)
{
    rnic_cm_del(dev->cm);
    free(dev->sent);
    free(dev->lost);
    free(dev->after);
}

/* Polls the events of our CM and stores the messages that our CM sends in dev->sent. */
static void drain_output(struct cm_replay_dev *dev)
{
    struct rnic_cm_event event;
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];

    while (rnic_cm_event(dev->cm, &event))
        if ((event.type == RNIC_CM_REQUEST || event.type == RNIC_CM_SIDR_REQUEST) && !dev->id)
            dev->id = event.id;
    while (rnic_cm_output(dev->cm, mad, &addr)) {
        struct sent_mad *s = &dev->sent[dev->sent_cnt];

        if (dev->sent_cnt == SENT_MAX || roce_cm_msg_parse(&s->msg, mad, sizeof(mad), sizeof(mad)))
            continue;
        memcpy(s->bytes, mad, sizeof(mad));
        s->used = false;
        dev->sent_cnt++;
    }
}

/* ---- Messages that our CM receives ----------------------------------------------------------- */

static void put_field(uint8_t *mad, enum roce_cm kind, const char *name, uint32_t value)
{
    const struct roce_field *field = roce_field_find(roce_cm_info(kind), name);

    if (field)
        roce_field_put(field, mad + ROCE_MAD_LEN, value);
}

static uint64_t rebound(const struct cm_replay_dev *dev, uint64_t tid)
{
    for (size_t i = dev->tid_cnt; i-- > 0;)
        if (dev->tid[i].recorded == tid)
            return dev->tid[i].ours;
    return tid;
}

static void rebind(struct cm_replay_dev *dev, uint64_t recorded, uint64_t ours)
{
    if (dev->tid_cnt < TIDS_MAX) {
        dev->tid[dev->tid_cnt].recorded = recorded;
        dev->tid[dev->tid_cnt++].ours = ours;
    }
}

/* Passes message `i` of the other end to our CM, with our communication and transaction ids in
 * place of the recorded ones. */
static int deliver_mad(struct cm_replay_dev *dev, size_t i)
{
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];

    cm_exchange_message(dev->xs->trace, dev->x->pkt[i], &msg);
    if (dev->watch && dev->watch->receive(dev->watch->ctx, dev->x->pkt[i]) != 0)
        return -1;
    dev->got[msg.kind] = true;
    msg.mad.tid = rebound(dev, msg.mad.tid);
    if (roce_cm_msg_build(&msg, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return 0;
    /* The capture lacks the RTU, but the peer sends a DREQ. So the connection was established. */
    if (msg.kind == ROCE_CM_DREQ && dev->role == CM_PASSIVE && !dev->got[ROCE_CM_RTU] && dev->id)
        rnic_cm_comm_est(dev->id, dev->now);
    if (dev->id && dev->x->sidr && dev->role == CM_ACTIVE)
        put_field(mad, msg.kind, "request_id", rnic_cm_id_local(dev->id));
    else if (dev->id && !dev->x->sidr)
        put_field(mad, msg.kind, "remote_comm_id", rnic_cm_id_local(dev->id));
    rnic_cm_input(dev->cm, mad, sizeof(mad), &dev->addr, dev->now);
    drain_output(dev);
    return 0;
}

/* ---- Calls of the program at our end --------------------------------------------------------- */

/* Returns whether our end has sent and received the messages that must precede a message of kind
 * `kind`. */
static bool is_explained(const struct cm_replay_dev *dev, enum roce_cm kind)
{
    switch (kind) {
    case ROCE_CM_REP: return dev->got[ROCE_CM_REQ];
    case ROCE_CM_RTU: return dev->got[ROCE_CM_REP] && dev->seen[ROCE_CM_REQ];
    case ROCE_CM_REJ: return dev->got[ROCE_CM_REQ] || dev->got[ROCE_CM_REP];
    case ROCE_CM_DREQ: return dev->seen[dev->role == CM_ACTIVE ? ROCE_CM_RTU : ROCE_CM_REP];
    case ROCE_CM_DREP:
        return dev->got[ROCE_CM_DREQ] &&
               (dev->role == CM_ACTIVE ? dev->seen[ROCE_CM_RTU] : dev->seen[ROCE_CM_REP]);
    case ROCE_CM_SIDR_REP: return dev->got[ROCE_CM_SIDR_REQ];
    default: return true;
    }
}

/* Calls the function of our CM that sends *msg, at the point of the capture where the recorded
 * program sent this message. */
static void act_as_program(struct cm_replay_dev *dev, const struct roce_cm_msg *msg)
{
    size_t len;
    const uint8_t *data = roce_cm_private_data(msg, &len);

    if (!dev->id)
        return;
    switch (msg->kind) {
    case ROCE_CM_REQ: rnic_cm_connect(dev->id, &msg->req, &dev->addr, dev->now); break;
    case ROCE_CM_REP: rnic_cm_accept(dev->id, &msg->rep, dev->now); break;
    case ROCE_CM_RTU: rnic_cm_establish(dev->id, data, len, dev->now); break;
    case ROCE_CM_REJ:
        rnic_cm_reject(dev->id, (enum roce_cm_rej_reason)msg->rej.reason, data, len, dev->now);
        break;
    case ROCE_CM_DREQ:
        /* The capture lacks the RTU. The recorded end treated data on the connection as the RTU
         * (R055). */
        if (dev->role == CM_PASSIVE && !dev->got[ROCE_CM_RTU])
            rnic_cm_comm_est(dev->id, dev->now);
        rnic_cm_disconnect(dev->id, data, len, dev->now);
        break;
    case ROCE_CM_DREP: rnic_cm_disconnect(dev->id, data, len, dev->now); break;
    case ROCE_CM_SIDR_REQ:
        rnic_cm_sidr_request(dev->id, &msg->sidr_req, SIDR_TIMEOUT, SIDR_RETRIES, &dev->addr,
                             dev->now);
        break;
    case ROCE_CM_SIDR_REP: rnic_cm_sidr_reply(dev->id, &msg->sidr_rep, dev->now); break;
    default: break;
    }
    drain_output(dev);
}

static struct sent_mad *find_sent(struct cm_replay_dev *dev, enum roce_cm kind)
{
    for (size_t i = 0; i < dev->sent_cnt; i++)
        if (!dev->sent[i].used && dev->sent[i].msg.kind == kind)
            return &dev->sent[i];
    return NULL;
}

/* ---- Comparing messages ---------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Adds the difference in one field, if the values differ. The field name, for example "cm.req.mtu",
 * is from a constant table, so that it need not be freed. */
static void compare_field(const struct cm_replay_dev *dev, const struct roce_field *field,
                          const uint8_t *recorded, const uint8_t *ours, struct field_diffs *d)
{
    uint64_t want, is;

    if (field->width > 64) {
        if (memcmp(recorded + field->byte, ours + field->byte, field->width / 8) != 0)
            field_diff_add(d, field->name, "as captured", "other bytes");
        return;
    }
    want = roce_field_get(field, recorded);
    is = roce_field_get(field, ours);
    if (strcmp(field->name, "local_comm_id") == 0)
        want = want == dev->x->id[dev->role] && want && dev->id ? rnic_cm_id_local(dev->id) : want;
    if (strcmp(field->name, "request_id") == 0 && dev->role == CM_ACTIVE && dev->id)
        want = rnic_cm_id_local(dev->id);
    field_diff_add_num(d, field->name, FIELD_HEX, want, is);
}

/* Returns whether a field of a REJ is not compared, because any value is allowed. There are two of
 * these fields: the additional information about the reason, and the local communication ID if the
 * passive end assigned none before it rejected the REQ. */
static bool is_free_in_rej(const struct cm_replay_dev *dev, const struct roce_cm_msg *want,
                           const struct roce_field *field, const uint8_t *recorded)
{
    return want->kind == ROCE_CM_REJ &&
           (begins_with(field->name, "info") ||
            (strcmp(field->name, "local_comm_id") == 0 && dev->role == CM_PASSIVE &&
             roce_field_get(field, recorded) == 0));
}

static void compare_message(struct cm_replay_dev *dev, const struct roce_cm_msg *want,
                            const struct sent_mad *ours, struct field_diffs *d)
{
    const struct roce_hdr_info *info = roce_cm_info(want->kind);
    uint8_t mad[ROCE_MAD_SIZE];

    if (roce_cm_msg_build(want, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return;
    for (unsigned i = 0; i < info->field_cnt; i++)
        if (!begins_with(info->fields[i].name, "resv") &&
            !is_free_in_rej(dev, want, &info->fields[i], mad + ROCE_MAD_LEN))
            compare_field(dev, &info->fields[i], mad + ROCE_MAD_LEN, ours->bytes + ROCE_MAD_LEN, d);
    field_diff_add_num(d, "mad.attr_id", FIELD_HEX, want->mad.attr_id, ours->msg.mad.attr_id);
    if (want->kind == ROCE_CM_REQ || want->kind == ROCE_CM_DREQ || want->kind == ROCE_CM_SIDR_REQ)
        rebind(dev, want->mad.tid, ours->msg.mad.tid);
    else
        field_diff_add_num(d, "mad.tid", FIELD_HEX, rebound(dev, want->mad.tid), ours->msg.mad.tid);
}

static int report_message(struct cm_replay_dev *dev, uint32_t pkt, const struct field_diffs *d,
                          const char *reason)
{
    return cm_exchange_report(dev->xs, dev->idx, dev->role, pkt, d, reason);
}

/* ---- One message of our end ------------------------------------------------------------------ */

/* Returns whether the peer repeated its request: after our end's last reply of kind `kind`, the
 * peer sent another message that needs a reply of this kind. If so, the repeated request makes our
 * end repeat its reply. If not, a timer of our end causes the retransmission. */
static bool asked_again(const struct cm_replay_dev *dev, size_t at, enum roce_cm kind)
{
    for (size_t i = dev->last[kind] + 1; i < at; i++)
        if (!is_ours(dev, i) && answers_request(kind, kind_of(dev, i)))
            return true;
    return false;
}

static bool has_timer(enum roce_cm kind)
{
    return kind == ROCE_CM_REQ || kind == ROCE_CM_REP || kind == ROCE_CM_DREQ ||
           kind == ROCE_CM_SIDR_REQ;
}

/* Sets *out to the message of our CM that corresponds to recorded message `pkt`, or to NULL.
 * Returns 0, or -1 if out of memory. */
static int make_expected_mad(struct cm_replay_dev *dev, const struct roce_cm_msg *msg, uint32_t pkt,
                             bool again, struct sent_mad **out)
{
    struct sent_mad *ours = find_sent(dev, msg->kind);

    if (!ours && !again) {
        if (dev->watch && dev->watch->act(dev->watch->ctx, pkt) != 0)
            return -1;
        act_as_program(dev, msg);
        ours = find_sent(dev, msg->kind);
    }
    for (unsigned i = 0; !ours && again && i < TIMERS_MAX; i++) {
        rnic_time at = rnic_cm_deadline(dev->cm);

        if (at == RNIC_NEVER)
            break;
        if (dev->watch && dev->watch->timer(dev->watch->ctx) != 0)
            return -1;
        dev->now = at > dev->now ? at : dev->now;
        rnic_cm_expire(dev->cm, dev->now);
        drain_output(dev);
        ours = find_sent(dev, msg->kind);
    }
    *out = ours;
    return 0;
}

static int expect_message(struct cm_replay_dev *dev, size_t at)
{
    struct field_diffs d = {.cnt = 0};
    struct roce_cm_msg msg;
    struct sent_mad *ours;
    bool again;

    cm_exchange_message(dev->xs->trace, dev->x->pkt[at], &msg);
    if (msg.kind == ROCE_CM_MRA || msg.kind == ROCE_CM_LAP || msg.kind == ROCE_CM_APR) {
        dev->end->optional++;
        return 0;
    }
    again = dev->seen[msg.kind];
    if (!is_explained(dev, msg.kind) ||
        (again && !has_timer(msg.kind) && !asked_again(dev, at, msg.kind))) {
        dev->end->stopped = "an earlier CM message was not captured";
        return 0;
    }
    /* Both ends sent a REJ. Our CM received the peer's REJ and then has no connection to reject, so
     * the REJ of our end is not compared. */
    if (msg.kind == ROCE_CM_REJ && dev->got[ROCE_CM_REJ]) {
        dev->end->optional++;
        return 0;
    }
    if (make_expected_mad(dev, &msg, dev->x->pkt[at], again, &ours) != 0)
        return -1;
    dev->seen[msg.kind] = true;
    dev->last[msg.kind] = (uint32_t)at;
    dev->end->compared++;
    if (!ours) {
        field_diff_add(&d, "message", roce_cm_name(msg.kind), "none");
        dev->end->stopped = "our CM sends a different message";
        return report_message(dev, dev->x->pkt[at], &d, "our CM does not send this message");
    }
    ours->used = true;
    compare_message(dev, &msg, ours, &d);
    return report_message(dev, dev->x->pkt[at], &d, "our CM sends this message with other fields");
}

/* ---- Replaying whole exchanges --------------------------------------------------------------- */

static int play_end(struct cm_replay_dev *dev)
{
    const struct trace *trace = dev->xs->trace;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < dev->x->cnt && !dev->end->stopped; i++) {
        rnic_time now = trace->pkt[dev->x->pkt[i]].time - trace->pkt[0].time + TIME_BASE;

        dev->now = now > dev->now ? now : dev->now;
        if (!is_ours(dev, i)) {
            dev->end->lost += dev->lost[i] == 1;
            if (dev->lost[i] == 0)
                rc = deliver_mad(dev, i);
            continue;
        }
        rc = expect_message(dev, i);
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (dev->lost[k] == 2 && dev->after[k] == i)
                rc = deliver_mad(dev, k);
    }
    for (size_t i = 0; i < dev->sent_cnt; i++)
        dev->end->only_ours += !dev->sent[i].used;
    return rc;
}

int cm_replay_end(struct cm_exchanges *xs, uint32_t idx, enum cm_role role,
                  const struct cm_replay_watch *watch)
{
    struct cm_exchange *x = &xs->at[idx];
    struct cm_replay_dev *dev = calloc(1, sizeof(*dev));
    int rc = 0;

    if (!dev)
        return -1;
    *dev = (struct cm_replay_dev){.watch = watch,
                                  .xs = xs,
                                  .x = x,
                                  .idx = idx,
                                  .role = role,
                                  .end = &x->end[role],
                                  .now = TIME_BASE};
    dev->end->skip = cm_replay_dev_open(dev);
    if (!dev->end->skip) {
        find_lost(dev);
        rc = play_end(dev);
    }
    if (!dev->end->skip && dev->end->compared == 0)
        dev->end->skip = dev->end->stopped ? dev->end->stopped
                                           : "the capture contains no message of this endpoint";
    dev->end->verdict = dev->end->diff_cnt ? VERDICT_FAIL
                        : dev->end->skip   ? VERDICT_SKIPPED
                                           : VERDICT_PASS;
    cm_replay_dev_close(dev);
    free(dev);
    return rc;
}

int cm_replay(struct cm_exchanges *xs, bool active, bool passive)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < xs->cnt; i++) {
        if (active)
            rc = cm_replay_end(xs, i, CM_ACTIVE, NULL);
        if (rc == 0 && passive)
            rc = cm_replay_end(xs, i, CM_PASSIVE, NULL);
    }
    return rc;
}
