/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/agent_setup.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "util/hex.h"
#include "wire/opcode.h"

#define RECV_DEPTH 512u /* maximum number of outstanding receive WQEs of a QP of the target */

/* Local ACK timeout of the target as requester: 4.096 us * 2^16 = 268 ms. It is long enough for a
 * loaded machine to send our responses, and short enough for tests that wait for a
 * retransmission. */
#define TIMEOUT_CODE 16

static json_t *access_json(unsigned access)
{
    json_t *list = json_array();

    if (access & RNIC_ACCESS_REMOTE_WRITE)
        json_array_append_new(list, json_string("write"));
    if (access & RNIC_ACCESS_REMOTE_READ)
        json_array_append_new(list, json_string("read"));
    if (access & RNIC_ACCESS_REMOTE_ATOMIC)
        json_array_append_new(list, json_string("atomic"));
    return list;
}

json_t *agent_setup_call(struct live *live, json_t *request, const char **why, struct error *error)
{
    bool refused;
    json_t *reply = agent_client_call(&live->agent, request, &refused, error);

    if (!reply && refused) {
        struct session *d = live->drive;
        char *text = strdup(error->text);

        if (!text || !VEC_GROW(d->kept, d->kept_cnt, d->kept_cap)) {
            free(text);
            error_set(error, "no memory");
            return NULL;
        }
        d->kept[d->kept_cnt++] = (uint8_t *)text;
        *why = text;
    }
    return reply;
}

static json_int_t json_int(const json_t *reply, const char *name)
{
    return json_integer_value(json_object_get(reply, name));
}

/* ---- setting up -------------------------------------------------------------------------------
 */

static int make_region(struct live *live, uint32_t device, uint32_t idx, struct error *error)
{
    const struct shadow_region *from = &live->drive->host[device].memory.region[idx];
    struct live_region *to = &live->region[device][idx];
    struct rewrite_region *rw = &live->rewrite[device][idx];
    const char *why = NULL;
    json_t *reply =
        agent_setup_call(live,
                         json_pack("{s:s, s:I, s:o}", "op", "mr", "len", (json_int_t)from->span,
                                   "access", access_json(from->access)),
                         &why, error);

    if (!reply) {
        if (!why)
            return -1;
        live->drive->host[device].failed = why;
        return 0;
    }
    to->mr = (uint32_t)json_int(reply, "mr");
    to->made = true;
    rw->addr = (uint64_t)json_int(reply, "addr");
    rw->rkey = (uint32_t)json_int(reply, "rkey");
    json_decref(reply);
    return 0;
}

/* Returns the reason why the target cannot execute the recorded requests of direction `s`, or NULL
 * if it can. */
static const char *unsupported_run(const struct live *live, const struct inferred_setup *s)
{
    if (s->mtu > live->port.iface.path_mtu)
        return "the path MTU of the connection is larger than the MTU of the interface";
    for (size_t i = 0; i < s->req_cnt; i++) {
        const struct roce_opcode *op = event_opcode(s, s->req[i].event);

        if (roce_opcode_is_atomic(op) && !live->agent.atomic)
            return "the target's device does not support atomics";
        if (roce_opcode_has(op, ROCE_HDR_IETH))
            return "SEND with Invalidate: no memory key of the agent can be invalidated";
        if (op->kind != ROCE_KIND_SEND && op->kind != ROCE_KIND_WRITE &&
            op->kind != ROCE_KIND_READ && !roce_opcode_is_atomic(op))
            return "the agent does not support FLUSH, ATOMIC WRITE and other new operations";
    }
    return NULL;
}

bool agent_setup_connect(struct live *live, uint32_t idx, uint32_t max_send, unsigned access,
                         bool we_request, const char **why, struct error *error)
{
    struct rc_direction *dir = &live->drive->dir[idx];
    struct live_run *to = &live->run[idx];
    const struct inferred_setup *s = &dir->setup;
    uint32_t psn = 0, atomics = live->agent.rd_atomic < 16 ? live->agent.rd_atomic : 16;
    char dgid[INET6_ADDRSTRLEN];
    json_int_t start;
    json_t *reply =
        agent_setup_call(live,
                         json_pack("{s:s, s:i, s:i}", "op", "qp", "max_recv",
                                   we_request ? (int)RECV_DEPTH : 1, "max_send", (int)max_send),
                         why, error);

    if (!reply)
        return false;
    to->qp = (uint32_t)json_int(reply, "qp");
    (void)!getrandom(&psn, sizeof(psn), 0);
    to->rewrite = (struct rewrite){
        .path = &live->path,
        .setup = s,
        .memory = &live->drive->host[dir->host].memory,
        .region = live->rewrite[dir->host],
        .we_request = we_request,
        .our_qpn = live->port.qpn + idx,
        .their_qpn = (uint32_t)json_int(reply, "qpn"),
        .psn = roce_psn_of(psn & 0xFFFFFF),
    };
    json_decref(reply);
    start = (json_int_t)roce_psn_add(to->rewrite.psn, (int32_t)s->first).v;
    inet_ntop(AF_INET6, live->port.addr, dgid, sizeof(dgid));
    reply = agent_setup_call(
        live,
        json_pack("{s:s, s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:i, s:I, s:i}", "op", "connect",
                  "qp", (json_int_t)to->qp, "dgid", dgid, "gid_index", live->agent.gid_index,
                  "dest_qpn", (json_int_t)to->rewrite.our_qpn, "mtu", (json_int_t)s->mtu, "rq_psn",
                  we_request ? start : 0, "sq_psn", we_request ? 0 : start, "access",
                  access_json(access), "min_rnr_timer", (int)s->rnr_code, "rd_atomic",
                  (json_int_t)atomics, "timeout", TIMEOUT_CODE),
        why, error);
    to->made = reply != NULL;
    json_decref(reply);
    return to->made;
}

static int make_qp(struct live *live, uint32_t idx, struct error *error)
{
    struct rc_direction *dir = &live->drive->dir[idx];
    const char *why = unsupported_run(live, &dir->setup);

    if (!why && agent_setup_connect(live, idx, 1, dir->setup.access, true, &why, error))
        return 0;
    dir->failed = why;
    return why ? 0 : -1;
}

int agent_setup_all(struct live *live, struct error *error)
{
    struct session *d = live->drive;

    for (uint32_t i = 0; i < d->host_cnt; i++)
        for (uint32_t k = 0; k < d->host[i].memory.keys.cnt && !d->host[i].failed; k++)
            if (make_region(live, i, k, error) != 0)
                return -1;
    for (uint32_t i = 0; i < d->dir_cnt; i++) {
        struct rc_direction *dir = &d->dir[i];

        if (dir->setup.skip || dir->failed)
            continue;
        dir->failed = d->host[dir->host].failed;
        if (!dir->failed && i >= LIVE_QPNS)
            dir->failed = "more connections than free QPNs";
        if (!dir->failed && make_qp(live, i, error) != 0)
            return -1;
    }
    return 0;
}

int agent_setup_dgram_qp(struct live *live, struct dgram_stream *stream, uint32_t max_send,
                         uint32_t max_recv, uint32_t *qp, uint32_t *qpn, struct error *error)
{
    const char *why = NULL;
    json_t *reply = agent_setup_call(live,
                                     json_pack("{s:s, s:s, s:i, s:i}", "op", "qp", "type",
                                               stream->svc == ROCE_SVC_UC ? "UC" : "UD", "max_send",
                                               (int)max_send, "max_recv", (int)max_recv),
                                     &why, error);

    if (!reply) {
        stream->skip = why;
        return why ? 0 : -1;
    }
    *qp = (uint32_t)json_integer_value(json_object_get(reply, "qp"));
    *qpn = (uint32_t)json_integer_value(json_object_get(reply, "qpn"));
    json_decref(reply);
    return 0;
}

int agent_setup_dgram_connect(struct live *live, struct dgram_stream *stream, uint32_t qp,
                              uint32_t ours, uint32_t rq_psn, uint32_t sq_psn, struct error *error)
{
    char dgid[INET6_ADDRSTRLEN];
    const char *why = NULL;
    json_t *reply;

    inet_ntop(AF_INET6, live->port.addr, dgid, sizeof(dgid));
    reply =
        agent_setup_call(live,
                         json_pack("{s:s, s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:[s]}", "op",
                                   "connect", "qp", (json_int_t)qp, "dgid", dgid, "gid_index",
                                   live->agent.gid_index, "dest_qpn", (json_int_t)ours, "mtu",
                                   (json_int_t)(stream->svc == ROCE_SVC_UC ? stream->mtu : 256u),
                                   "rq_psn", (json_int_t)rq_psn, "sq_psn", (json_int_t)sq_psn,
                                   "qkey", (json_int_t)stream->qkey, "access", "write"),
                         &why, error);
    stream->skip = reply ? NULL : why;
    json_decref(reply);
    return reply || why ? 0 : -1;
}

/* ---- actions of the responder's program -------------------------------------------------------
 */

static json_t *store_json(const struct live *live, const struct live_event *e,
                          const struct shadow_region *region, uint32_t mr)
{
    char *hex = malloc(2 * (size_t)e->len + 1);
    json_t *out;

    if (!hex)
        return NULL;
    hex_format(hex, live->script.byte + e->byte, e->len);
    out = json_pack("{s:s, s:I, s:I, s:s%}", "op", "store", "mr", (json_int_t)mr, "off",
                    (json_int_t)(e->va - region->low), "hex", hex, 2 * (size_t)e->len);
    free(hex);
    return out;
}

/* A refusal of this event is an error, not a reason to skip the connection: the agent has already
 * created the region or QP that the event changes. */
int agent_setup_event(struct live *live, const struct live_event *e, struct error *error)
{
    struct live_run *run = &live->run[e->run];
    const struct shadow_memory *memory = &live->drive->host[e->device].memory;
    const struct shadow_region *region = e->kind == LIVE_RECV ? NULL : shadow_find(memory, e->rkey);
    uint32_t idx = region ? (uint32_t)(region - memory->region) : 0;
    uint32_t mr = region ? live->region[e->device][idx].mr : 0;
    json_t *request, *reply;
    bool refused;

    if (e->kind == LIVE_RECV ? !run->made : !region || !live->region[e->device][idx].made)
        return 0;
    switch (e->kind) {
    case LIVE_RECV:
        request = json_pack("{s:s, s:I, s:I, s:I}", "op", "recv", "qp", (json_int_t)run->qp, "len",
                            (json_int_t)e->len, "id", (json_int_t)run->recv_cnt++);
        break;
    case LIVE_STORE: request = store_json(live, e, region, mr); break;
    default:
        request = json_pack("{s:s, s:I}", "op", e->kind == LIVE_WITHDRAW ? "withdraw" : "register",
                            "mr", (json_int_t)mr);
    }
    reply = agent_client_call(&live->agent, request, &refused, error);
    if (!reply)
        return -1;
    if (e->kind == LIVE_REGISTER)
        live->rewrite[e->device][idx].rkey = (uint32_t)json_int(reply, "rkey");
    json_decref(reply);
    return 0;
}
