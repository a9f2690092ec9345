/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_rpc_objects.h"

#include <arpa/inet.h>
#include <string.h>
#include "agent/agent_args.h"
#include "agent/agent_objects.h"

#define EVENTS_MAX 256u /* maximum number of events in one reply */

/* Names of the QP states, indexed by enum ibv_qp_state. */
static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

/* ---- reading attributes ---------------------------------------------------------------------- */

bool agent_read_gid(const json_t *in, union ibv_gid *out)
{
    const char *dgid = json_string_value(json_object_get(in, "dgid"));

    return dgid && inet_pton(AF_INET6, dgid, out) == 1;
}

/* Reads the member "state", the name of a QP state. Uses `fallback` if the member is absent.
 * Returns false if the name is unknown. */
static bool read_state(const json_t *in, enum ibv_qp_state fallback, enum ibv_qp_state *out)
{
    const json_t *value = json_object_get(in, "state");
    const char *name = json_string_value(value);

    *out = fallback;
    for (unsigned i = 0; name && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(name, states[i]) == 0) {
            *out = (enum ibv_qp_state)i;
            return true;
        }
    return !value;
}

bool agent_read_connect(const json_t *in, struct agent_connect *to)
{
    union ibv_gid dgid = to->dgid;
    uint64_t gid, qpn, mtu, rq, sq, rnr, timeout, retry, rnr_retry, atomics, own, hops, qkey;
    uint64_t tclass, pkey, port;

    *to = (struct agent_connect){.dgid = dgid, .access = agent_access_of(in)};
    if (to->access < 0 || !agent_read_number(in, "gid_index", 255, 0, &gid) ||
        !agent_read_number(in, "dest_qpn", 0xFFFFFF, 0, &qpn) ||
        !agent_read_number(in, "mtu", 4096, 1024, &mtu) ||
        !agent_read_number(in, "rq_psn", 0xFFFFFF, 0, &rq) ||
        !agent_read_number(in, "sq_psn", 0xFFFFFF, 0, &sq) ||
        !agent_read_number(in, "min_rnr_timer", 31, 12, &rnr) ||
        !agent_read_number(in, "timeout", 31, 14, &timeout) ||
        !agent_read_number(in, "retry_cnt", 7, 7, &retry) ||
        !agent_read_number(in, "rnr_retry", 7, 7, &rnr_retry) ||
        !agent_read_number(in, "rd_atomic", 255, 1, &atomics) ||
        !agent_read_number(in, "resources", 255, atomics, &own) ||
        !agent_read_number(in, "hop_limit", 255, 64, &hops) ||
        !agent_read_number(in, "traffic_class", 255, 0, &tclass) ||
        !agent_read_number(in, "qkey", UINT32_MAX, 0, &qkey) ||
        !agent_read_number(in, "pkey", UINT16_MAX, AGENT_PKEY, &pkey) ||
        !agent_read_number(in, "port", UINT8_MAX, AGENT_PORT, &port) ||
        !read_state(in, IBV_QPS_RTS, &to->last))
        return false;
    to->gid_index = (int)gid;
    to->dest_qpn = (uint32_t)qpn;
    to->mtu = (uint32_t)mtu;
    to->rq_psn = (uint32_t)rq;
    to->sq_psn = (uint32_t)sq;
    to->min_rnr_timer = (uint8_t)rnr;
    to->timeout = (uint8_t)timeout;
    to->retry_cnt = (uint8_t)retry;
    to->rnr_retry = (uint8_t)rnr_retry;
    to->rd_atomic = (uint8_t)atomics;
    to->resources = (uint8_t)own;
    to->hop_limit = (uint8_t)hops;
    to->tclass = (uint8_t)tclass;
    to->qkey = (uint32_t)qkey;
    to->pkey = (uint16_t)pkey;
    to->port = (uint8_t)port;
    return true;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

json_t *agent_op_query(struct agent_device *dev, const json_t *in)
{
    enum ibv_qp_state state;
    uint32_t number;

    if (agent_which_mw(dev, in, &number))
        return json_pack("{s:b, s:I}", "ok", 1, "rkey", (json_int_t)dev->mw[number]->rkey);
    if (!agent_which_qp(dev, in, &number))
        return agent_error_reply("query: no QP or memory window has this number");
    if (agent_qp_state(dev, number, &state) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:s}", "ok", 1, "state",
                     (unsigned)state < sizeof(states) / sizeof(states[0]) ? states[state]
                                                                          : "unknown");
}

static json_t *modify_srq(struct agent_device *dev, const json_t *in, uint32_t srq)
{
    uint64_t depth, limit;
    uint32_t new_depth, new_limit;

    if (!agent_read_number(in, "depth", AGENT_CQ_LEN, 0, &depth) ||
        !agent_read_number(in, "limit", AGENT_CQ_LEN, 0, &limit))
        return agent_error_reply("modify: depth and limit must not exceed %u", AGENT_CQ_LEN);
    new_depth = (uint32_t)depth;
    new_limit = (uint32_t)limit;
    return agent_ok_or_error(
        dev, agent_srq_modify(dev, srq, json_object_get(in, "depth") ? &new_depth : NULL,
                              json_object_get(in, "limit") ? &new_limit : NULL));
}

static json_t *modify_cq(struct agent_device *dev, const json_t *in, uint32_t cq)
{
    uint64_t depth;

    if (!agent_read_number(in, "depth", AGENT_CQ_LEN, 1, &depth) || depth == 0)
        return agent_error_reply("modify: depth must be 1 to %u", AGENT_CQ_LEN);
    return agent_ok_or_error(dev, agent_cq_resize(dev, cq, (uint32_t)depth));
}

json_t *agent_op_modify(struct agent_device *dev, const json_t *in)
{
    static const struct {
        const char *name;
        int mask;
    } rows[] = {
        {"access", IBV_QP_ACCESS_FLAGS},
        {"qkey", IBV_QP_QKEY},
        {"mtu", IBV_QP_PATH_MTU},
        {"timeout", IBV_QP_TIMEOUT},
        {"retry_cnt", IBV_QP_RETRY_CNT},
        {"rnr_retry", IBV_QP_RNR_RETRY},
        {"rq_psn", IBV_QP_RQ_PSN},
        {"sq_psn", IBV_QP_SQ_PSN},
        {"rd_atomic", IBV_QP_MAX_QP_RD_ATOMIC},
        {"resources", IBV_QP_MAX_DEST_RD_ATOMIC},
        {"min_rnr_timer", IBV_QP_MIN_RNR_TIMER},
        {"dest_qpn", IBV_QP_DEST_QPN},
        {"dgid", IBV_QP_AV},
        {"pkey", IBV_QP_PKEY_INDEX},
        {"port", IBV_QP_PORT},
    };
    struct agent_connect to = {0};
    bool whole = json_is_true(json_object_get(in, "transition"));
    int mask = json_object_get(in, "state") ? IBV_QP_STATE : 0;
    uint32_t number;

    if (agent_which_srq(dev, in, &number))
        return modify_srq(dev, in, number);
    if (agent_which_cq(dev, in, &number))
        return modify_cq(dev, in, number);
    if (!agent_which_qp(dev, in, &number))
        return agent_error_reply("modify: no QP, SRQ or CQ has this number");
    if (!agent_read_connect(in, &to))
        return agent_error_reply("modify: a member is out of range");
    agent_read_gid(in, &to.dgid);
    for (unsigned i = 0; !whole && i < sizeof(rows) / sizeof(rows[0]); i++)
        mask |= json_object_get(in, rows[i].name) ? rows[i].mask : 0;
    return agent_ok_or_error(dev, agent_qp_modify(dev, number, &to, to.last, mask));
}

/* ---- protection domains and CQs -------------------------------------------------------------- */

json_t *agent_op_pd(struct agent_device *dev, const json_t *in)
{
    uint32_t pd;

    (void)in;
    if (agent_pd_new(dev, &pd) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I}", "ok", 1, "pd", (json_int_t)pd);
}

json_t *agent_op_cq(struct agent_device *dev, const json_t *in)
{
    uint64_t depth;
    uint32_t cq;

    if (!agent_read_number(in, "depth", AGENT_CQ_LEN, 64, &depth) || depth == 0)
        return agent_error_reply("cq: depth must be 1 to %u", AGENT_CQ_LEN);
    if (agent_cq_new(dev, (uint32_t)depth, &cq) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I}", "ok", 1, "cq", (json_int_t)cq);
}

json_t *agent_op_arm(struct agent_device *dev, const json_t *in)
{
    uint32_t cq;

    if (!agent_which_cq(dev, in, &cq))
        return agent_error_reply("arm: no CQ has this number");
    return agent_ok_or_error(dev,
                             agent_cq_arm(dev, cq, json_is_true(json_object_get(in, "solicited"))));
}

/* ---- SRQs and memory windows ----------------------------------------------------------------- */

json_t *agent_op_srq(struct agent_device *dev, const json_t *in)
{
    struct agent_srq_attr attr;
    uint64_t depth, limit;
    uint32_t srq;

    if (!agent_read_number(in, "depth", AGENT_CQ_LEN, 64, &depth) ||
        !agent_read_number(in, "limit", AGENT_CQ_LEN, 0, &limit))
        return agent_error_reply("srq: depth and limit must not exceed %u", AGENT_CQ_LEN);
    attr = (struct agent_srq_attr){.depth = (uint32_t)depth, .limit = (uint32_t)limit};
    if (!agent_read_pd(dev, in, &attr.pd))
        return agent_error_reply("srq: no protection domain has this number");
    if (agent_srq_new(dev, &attr, &srq) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I}", "ok", 1, "srq", (json_int_t)srq);
}

json_t *agent_op_mw(struct agent_device *dev, const json_t *in)
{
    uint64_t type;
    uint32_t mw;

    if (!agent_read_number(in, "type", 2, 1, &type) || type == 0)
        return agent_error_reply("mw: type must be 1 or 2");
    if (agent_mw_new(dev, type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2, &mw) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I, s:I}", "ok", 1, "mw", (json_int_t)mw, "rkey",
                     (json_int_t)dev->mw[mw]->rkey);
}

json_t *agent_op_bind(struct agent_device *dev, const json_t *in)
{
    struct agent_bind bind = {.unsignaled = json_is_true(json_object_get(in, "unsignaled"))};
    uint64_t mr, addr, len, rkey;
    int access = agent_access_of(in);

    if (!agent_which_qp(dev, in, &bind.qp) || !agent_which_mw(dev, in, &bind.mw))
        return agent_error_reply("bind: no QP or memory window has this number");
    if (!json_object_get(in, "mr") || !agent_read_number(in, "mr", UINT32_MAX, 0, &mr) ||
        mr >= dev->mr_cnt || !dev->mr[mr].mr)
        return agent_error_reply("bind: no registered region has this number");
    if (access < 0 || !agent_read_number(in, "id", UINT64_MAX, 0, &bind.id) ||
        !agent_read_number(in, "addr", UINT64_MAX, 0, &addr) ||
        !agent_read_number(in, "len", UINT64_MAX, 0, &len) ||
        !agent_read_number(in, "rkey", UINT32_MAX, 0, &rkey))
        return agent_error_reply("bind: a member is out of range");
    bind.rkey = (uint32_t)rkey;
    bind.info = (struct ibv_mw_bind_info){
        .mr = dev->mr[mr].mr, .addr = addr, .length = len, .mw_access_flags = (unsigned)access};
    if (agent_mw_bind(dev, &bind) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I}", "ok", 1, "rkey", (json_int_t)dev->mw[bind.mw]->rkey);
}

/* ---- events and notifications ---------------------------------------------------------------- */

json_t *agent_rpc_events(struct agent_device *dev)
{
    json_t *list = json_array();
    struct agent_event event;

    for (unsigned i = 0; list && i < EVENTS_MAX && agent_event_get(dev, &event); i++) {
        json_t *item = json_pack("{s:i, s:s}", "type", (int)event.type, "text",
                                 ibv_event_type_str(event.type));

        if (event.has_qp)
            json_object_set_new(item, "qp", json_integer((json_int_t)event.qp));
        if (event.has_srq)
            json_object_set_new(item, "srq", json_integer((json_int_t)event.srq));
        if (event.has_cq)
            json_object_set_new(item, "cq", json_integer((json_int_t)event.cq));
        json_array_append_new(list, item);
    }
    return list;
}

json_t *agent_rpc_notified(struct agent_device *dev)
{
    json_t *list = json_array();
    uint32_t cq;

    for (unsigned i = 0; list && i < EVENTS_MAX && agent_notified(dev, &cq); i++)
        json_array_append_new(list, json_integer((json_int_t)cq));
    return list;
}
