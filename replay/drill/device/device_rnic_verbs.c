/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_rnic_verbs.h"

#include <string.h>

/* ---- work requests --------------------------------------------------------------------------- */

static int post_recv(struct drill_device *dev, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    const struct script_object *object = &dev->script->object[event->object];
    struct recv_buffer *buffer = &dev->recv[dev->recv_cnt];
    struct rnic_sge sge = {.len = (uint32_t)script_number(o, SCRIPT_OPT_LEN, 0)};
    const struct rnic_recv_wr wr = {
        .wr_id = script_number(o, SCRIPT_OPT_ID, 0), .sge = &sge, .sge_cnt = 1};
    int rc;

    if (dev->recv_cnt == DEVICE_RNIC_RECV_MAX)
        return RNIC_ERR_NOMEM;
    *buffer = (struct recv_buffer){.object = event->object,
                                   .id = wr.wr_id,
                                   .off = dev->recv_used,
                                   .len = sge.len,
                                   .named = script_given(o, SCRIPT_OPT_TO),
                                   .place = o->value[SCRIPT_OPT_TO]};
    if (buffer->named) {
        sge.addr = buffer->place.num;
        if (buffer->place.object != SCRIPT_NO_OBJECT) {
            sge.addr += device_rnic_address(dev, buffer->place.object);
            sge.lkey = device_rnic_key(dev, buffer->place.object);
        }
    } else {
        sge.addr = UINT64_C(0x7E0000000000) + dev->recv_used;
        sge.lkey = device_rnic_recv_key(dev, device_rnic_pd(dev, &object->options));
        dev->recv_used += sge.len;
    }
    rc = object->kind == SCRIPT_SRQ ? dev->api->rnic_post_srq_recv(dev->at[event->object].srq, &wr)
                                    : dev->api->rnic_post_recv(dev->at[event->object].qp, &wr);
    if (rc == 0)
        dev->recv_cnt++;
    return rc;
}

/* Sets the SGE of a work request to an address in the device's memory. */
static void set_sge(const struct drill_device *dev, const struct script_value *place,
                    struct rnic_sge *sge)
{
    sge->addr = place->num;
    sge->lkey = 0;
    if (place->object != SCRIPT_NO_OBJECT) {
        sge->addr += device_rnic_address(dev, place->object);
        sge->lkey = device_rnic_key(dev, place->object);
    }
}

/* Sets the remote address and key of a work request to an address in the peer's memory. */
static void set_remote(const struct drill_device *dev, const struct script_event *event,
                       const struct script_value *place, struct rnic_send_wr *wr)
{
    const struct script_value *key = &event->options.value[SCRIPT_OPT_KEY];

    wr->remote_addr = place->num;
    if (place->object != SCRIPT_NO_OBJECT) {
        wr->remote_addr += device_rnic_address(dev, place->object);
        wr->rkey = device_rnic_key(dev, place->object);
    }
    if (script_given(&event->options, SCRIPT_OPT_KEY))
        wr->rkey = key->object == SCRIPT_NO_OBJECT ? (uint32_t)key->num
                                                   : device_rnic_key(dev, key->object);
}

static int set_bind(struct drill_device *dev, const struct script_event *event,
                    struct rnic_send_wr *wr)
{
    const struct script_options *o = &event->options;
    const struct script_value *mr = &o->value[SCRIPT_OPT_MR];
    int window = o->value[SCRIPT_OPT_INVALIDATE].object;

    if (mr->object == SCRIPT_NO_OBJECT || dev->script->object[mr->object].kind != SCRIPT_MR)
        return RNIC_ERR_INVALID;
    wr->opcode = RNIC_WR_BIND_MW;
    wr->mw.mw = dev->at[window].mw;
    wr->mw.mr = dev->at[mr->object].mr;
    wr->mw.addr = device_rnic_address(dev, mr->object) + mr->num;
    wr->mw.len = script_number(o, SCRIPT_OPT_LEN, 0);
    wr->mw.access = (unsigned)script_number(o, SCRIPT_OPT_ACCESS, 0) &
                    (RNIC_ACCESS_REMOTE | RNIC_ACCESS_ZERO_BASED);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED))
        wr->mw.access |= RNIC_ACCESS_ZERO_BASED;
    wr->mw.rkey = script_given(o, SCRIPT_OPT_KEY) ? (uint32_t)o->value[SCRIPT_OPT_KEY].num
                                                  : dev->api->rnic_mw_rkey(dev->at[window].mw) + 1;
    if (!script_given(o, SCRIPT_OPT_KEY)) /* a bind may change only the low 8 bits of the R_Key */
        wr->mw.rkey = (dev->api->rnic_mw_rkey(dev->at[window].mw) & ~0xFFu) | (wr->mw.rkey & 0xFF);
    return 0;
}

static uint32_t key_value(const struct drill_device *dev, const struct script_value *value)
{
    return value->object == SCRIPT_NO_OBJECT
               ? (uint32_t)value->num
               : device_rnic_key(dev, value->object) + (uint32_t)value->num;
}

static const struct {
    enum rnic_wr_opcode opcode, imm;
    enum script_opt local, remote;
    uint32_t len; /* length of the request if the line names no length, bytes */
} posts[SCRIPT_VERB_CNT] = {
    [SCRIPT_VERB_SEND] = {RNIC_WR_SEND, RNIC_WR_SEND_IMM, SCRIPT_OPT_FROM, SCRIPT_OPT_CNT, 0},
    [SCRIPT_VERB_WRITE] = {RNIC_WR_WRITE, RNIC_WR_WRITE_IMM, SCRIPT_OPT_FROM, SCRIPT_OPT_TO, 0},
    [SCRIPT_VERB_READ] = {RNIC_WR_READ, RNIC_WR_READ, SCRIPT_OPT_TO, SCRIPT_OPT_FROM, 0},
    [SCRIPT_VERB_CMP_SWAP] = {RNIC_WR_CMP_SWAP, RNIC_WR_CMP_SWAP, SCRIPT_OPT_TO, SCRIPT_OPT_FROM,
                              8},
    [SCRIPT_VERB_FETCH_ADD] = {RNIC_WR_FETCH_ADD, RNIC_WR_FETCH_ADD, SCRIPT_OPT_TO, SCRIPT_OPT_FROM,
                               8},
    [SCRIPT_VERB_FLUSH] = {RNIC_WR_FLUSH, RNIC_WR_FLUSH, SCRIPT_OPT_CNT, SCRIPT_OPT_TO, 0},
    [SCRIPT_VERB_ATOMIC_WRITE] = {RNIC_WR_ATOMIC_WRITE, RNIC_WR_ATOMIC_WRITE, SCRIPT_OPT_FROM,
                                  SCRIPT_OPT_TO, 8},
    [SCRIPT_VERB_LOCAL_INV] = {RNIC_WR_LOCAL_INV, RNIC_WR_LOCAL_INV, SCRIPT_OPT_CNT, SCRIPT_OPT_CNT,
                               0},
    [SCRIPT_VERB_BIND] = {RNIC_WR_BIND_MW, RNIC_WR_BIND_MW, SCRIPT_OPT_CNT, SCRIPT_OPT_CNT, 0},
};

static unsigned send_flags(const struct script_options *o)
{
    return (script_given(o, SCRIPT_OPT_UNSIGNALED) ? 0 : RNIC_SEND_SIGNALED) |
           (script_given(o, SCRIPT_OPT_FENCE) ? RNIC_SEND_FENCE : 0) |
           (script_given(o, SCRIPT_OPT_SOLICITED) ? RNIC_SEND_SOLICITED : 0) |
           (script_given(o, SCRIPT_OPT_INLINE) ? RNIC_SEND_INLINE : 0);
}

static int post_send(struct drill_device *dev, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    enum script_opt local = posts[event->verb].local, remote = posts[event->verb].remote;
    struct rnic_sge sge = {.len =
                               (uint32_t)script_number(o, SCRIPT_OPT_LEN, posts[event->verb].len)};
    struct rnic_send_wr wr = {
        .wr_id = script_number(o, SCRIPT_OPT_ID, 0),
        .opcode =
            script_given(o, SCRIPT_OPT_IMM) ? posts[event->verb].imm : posts[event->verb].opcode,
        .flags = send_flags(o),
        .imm = (uint32_t)script_number(o, SCRIPT_OPT_IMM, 0),
        .compare_add = script_number(o, SCRIPT_OPT_COMPARE, script_number(o, SCRIPT_OPT_ADD, 0)),
        .swap = script_number(o, SCRIPT_OPT_SWAP, 0),
        .ah =
            dev->at[script_given(o, SCRIPT_OPT_AH) ? o->value[SCRIPT_OPT_AH].object : event->object]
                .ah,
        .remote_qpn =
            (uint32_t)script_number(o, SCRIPT_OPT_TO_QPN, drill_own_qpn(dev->net, event->object)),
        .remote_qkey =
            (uint32_t)script_number(o, SCRIPT_OPT_QKEY,
                                    script_number(&dev->script->object[event->object].options,
                                                  SCRIPT_OPT_QKEY, 0x11111111)),
        .flush = {.len = sge.len,
                  .type = (unsigned)script_number(o, SCRIPT_OPT_TYPE, 1),
                  .level =
                      (enum rnic_flush_level)script_number(o, SCRIPT_OPT_LEVEL, RNIC_FLUSH_RANGE)},
        .srqn = script_given(o, SCRIPT_OPT_SRQ) ? dev->at[o->value[SCRIPT_OPT_SRQ].object].number
                                                : 0x000123,
    };

    if (local != SCRIPT_OPT_CNT && script_given(o, local)) {
        const struct script_value *place = &o->value[local];

        wr.sge = &sge;
        wr.sge_cnt = 1;
        set_sge(dev, place, &sge);
        if (script_given(o, SCRIPT_OPT_INLINE)) {
            if (place->object == SCRIPT_NO_OBJECT || !dev->at[place->object].block ||
                place->num + sge.len > dev->at[place->object].len)
                return RNIC_ERR_INVALID;
            sge.addr =
                (uintptr_t)(dev->at[place->object].block + DEVICE_RNIC_GUARD_LEN + place->num);
        }
    }
    if (remote != SCRIPT_OPT_CNT && script_given(o, remote))
        set_remote(dev, event, &o->value[remote], &wr);
    if (event->verb == SCRIPT_VERB_BIND) {
        int rc = set_bind(dev, event, &wr);

        if (rc != 0)
            return rc;
    } else if (script_given(o, SCRIPT_OPT_INVALIDATE)) {
        wr.opcode = RNIC_WR_SEND_INV;
        wr.invalidate_key = key_value(dev, &o->value[SCRIPT_OPT_INVALIDATE]);
    }
    if (event->verb == SCRIPT_VERB_LOCAL_INV)
        wr.invalidate_key = key_value(dev, &o->value[SCRIPT_OPT_KEY]);
    return dev->api->rnic_post_send(dev->at[event->object].qp, &wr);
}

/* ---- other verbs ----------------------------------------------------------------------------- */

static int store_bytes(struct drill_device *dev, const struct script_event *event)
{
    int object = event->place.object;
    const struct script_options *o = &event->options;
    uint64_t len = script_number(
        o, SCRIPT_OPT_LEN,
        o->fill.kind == SCRIPT_FILL_DATA ? o->fill.len : dev->at[object].len - event->place.num);

    if (event->place.num > dev->at[object].len || len > dev->at[object].len - event->place.num)
        return RNIC_ERR_INVALID;
    device_rnic_fill(dev->at[object].block + DEVICE_RNIC_GUARD_LEN + event->place.num, len,
                     &o->fill);
    return 0;
}

/* For each option of "modify QP": the attribute that the option sets. */
static const struct {
    enum script_opt opt;
    unsigned mask;
} modify_rows[] = {
    {SCRIPT_OPT_STATE, RNIC_QP_STATE},
    {SCRIPT_OPT_ACCESS, RNIC_QP_ACCESS_FLAGS},
    {SCRIPT_OPT_PKEY, RNIC_QP_PKEY_INDEX},
    {SCRIPT_OPT_QKEY, RNIC_QP_QKEY},
    {SCRIPT_OPT_MTU, RNIC_QP_PATH_MTU},
    {SCRIPT_OPT_TIMEOUT, RNIC_QP_TIMEOUT},
    {SCRIPT_OPT_RETRY, RNIC_QP_RETRY_CNT},
    {SCRIPT_OPT_RNR_RETRY, RNIC_QP_RNR_RETRY},
    {SCRIPT_OPT_PEER_PSN, RNIC_QP_RQ_PSN},
    {SCRIPT_OPT_RD_ATOMIC, RNIC_QP_MAX_QP_RD_ATOMIC},
    {SCRIPT_OPT_RNR_TIMER, RNIC_QP_MIN_RNR_TIMER},
    {SCRIPT_OPT_PSN, RNIC_QP_SQ_PSN},
    {SCRIPT_OPT_RESOURCES, RNIC_QP_MAX_DEST_RD_ATOMIC},
    {SCRIPT_OPT_PEER_QPN, RNIC_QP_DEST_QPN},
    {SCRIPT_OPT_TCLASS, RNIC_QP_AV},
    {SCRIPT_OPT_HOP_LIMIT, RNIC_QP_AV},
    {SCRIPT_OPT_PORT, RNIC_QP_PORT},
};

/* Runs "modify QP". If the line names only a new state, passes every attribute that the transition
 * permits, with the values that the script declares for the QP. Otherwise passes only the
 * attributes of the options that the line names. */
static int modify_qp(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    const struct script_options *o = &event->options;
    struct rnic_qp_attr attr;
    unsigned mask = 0;

    device_rnic_qp_attr(dev, event->object, &attr);
    for (unsigned i = 0; i < sizeof(modify_rows) / sizeof(modify_rows[0]); i++)
        if (script_given(o, modify_rows[i].opt))
            mask |= modify_rows[i].mask;
    attr.state = (enum rnic_qp_state)script_number(o, SCRIPT_OPT_STATE, 0);
    if (mask == RNIC_QP_STATE) {
        attr.en_sqd_async_notify = true;
        return dev->api->rnic_qp_modify(dev->at[event->object].qp, &attr, now);
    }
    attr.access = (unsigned)script_number(o, SCRIPT_OPT_ACCESS, attr.access);
    attr.pkey = (uint16_t)script_number(o, SCRIPT_OPT_PKEY, attr.pkey);
    attr.qkey = (uint32_t)script_number(o, SCRIPT_OPT_QKEY, attr.qkey);
    attr.path_mtu = (uint32_t)script_number(o, SCRIPT_OPT_MTU, attr.path_mtu);
    attr.timeout = (uint8_t)script_number(o, SCRIPT_OPT_TIMEOUT, attr.timeout);
    attr.retry_cnt = (uint8_t)script_number(o, SCRIPT_OPT_RETRY, attr.retry_cnt);
    attr.rnr_retry = (uint8_t)script_number(o, SCRIPT_OPT_RNR_RETRY, attr.rnr_retry);
    attr.rq_psn = (uint32_t)script_number(o, SCRIPT_OPT_PEER_PSN, attr.rq_psn);
    attr.sq_psn = (uint32_t)script_number(o, SCRIPT_OPT_PSN, attr.sq_psn);
    attr.max_rd_atomic = (uint8_t)script_number(o, SCRIPT_OPT_RD_ATOMIC, attr.max_rd_atomic);
    attr.max_dest_rd_atomic =
        (uint8_t)script_number(o, SCRIPT_OPT_RESOURCES, attr.max_dest_rd_atomic);
    attr.min_rnr_timer = (uint8_t)script_number(o, SCRIPT_OPT_RNR_TIMER, attr.min_rnr_timer);
    attr.dest_qpn = (uint32_t)script_number(o, SCRIPT_OPT_PEER_QPN, attr.dest_qpn);
    attr.port_num = (uint8_t)script_number(o, SCRIPT_OPT_PORT, 1);
    attr.av.udp_sport = 0;
    attr.av.tclass = (uint8_t)script_number(o, SCRIPT_OPT_TCLASS, attr.av.tclass);
    attr.av.hop_limit = (uint8_t)script_number(o, SCRIPT_OPT_HOP_LIMIT, attr.av.hop_limit);
    return dev->api->rnic_qp_modify_mask(dev->at[event->object].qp, &attr, mask, now);
}

static int modify_object(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    const struct script_options *o = &event->options;
    uint32_t limit = (uint32_t)script_number(o, SCRIPT_OPT_LIMIT, 0);
    uint32_t depth = (uint32_t)script_number(o, SCRIPT_OPT_DEPTH, 0);

    switch (dev->script->object[event->object].kind) {
    case SCRIPT_QP: return modify_qp(dev, event, now);
    case SCRIPT_SRQ:
        return dev->api->rnic_srq_modify(dev->at[event->object].srq,
                                         script_given(o, SCRIPT_OPT_DEPTH) ? &depth : NULL,
                                         script_given(o, SCRIPT_OPT_LIMIT) ? &limit : NULL);
    default: return dev->api->rnic_cq_resize(dev->at[event->object].cq, depth);
    }
}

static int destroy_object(struct drill_device *dev, int i)
{
    int rc;

    switch (dev->script->object[i].kind) {
    case SCRIPT_PD:
        rc = dev->api->rnic_pd_del(dev->at[i].pd);
        dev->at[i].pd = rc == 0 ? NULL : dev->at[i].pd;
        return rc;
    case SCRIPT_CQ:
        rc = dev->api->rnic_cq_del(dev->at[i].cq);
        dev->at[i].cq = rc == 0 ? NULL : dev->at[i].cq;
        return rc;
    case SCRIPT_SRQ:
        rc = dev->api->rnic_srq_del(dev->at[i].srq);
        dev->at[i].srq = rc == 0 ? NULL : dev->at[i].srq;
        return rc;
    case SCRIPT_XRCD:
        rc = dev->api->rnic_xrcd_del(dev->at[i].xrcd);
        dev->at[i].xrcd = rc == 0 ? NULL : dev->at[i].xrcd;
        return rc;
    case SCRIPT_QP:
        rc = dev->api->rnic_qp_del(dev->at[i].qp);
        dev->at[i].qp = rc == 0 ? NULL : dev->at[i].qp;
        return rc;
    case SCRIPT_MR:
        rc = dev->api->rnic_mr_dereg(dev->at[i].mr);
        dev->at[i].mr = rc == 0 ? NULL : dev->at[i].mr;
        return rc;
    case SCRIPT_MW:
        rc = dev->api->rnic_mw_del(dev->at[i].mw);
        dev->at[i].mw = rc == 0 ? NULL : dev->at[i].mw;
        return rc;
    case SCRIPT_AH:
        rc = dev->api->rnic_ah_del(dev->at[i].ah);
        dev->at[i].ah = rc == 0 ? NULL : dev->at[i].ah;
        return rc;
    case SCRIPT_PEER: break;
    }
    return RNIC_ERR_INVALID;
}

/* Returns whether an earlier verb destroyed the object that this event uses. */
static bool uses_destroyed(const struct drill_device *dev, const struct script_event *event)
{
    int i = event->object;

    if (i == SCRIPT_NO_OBJECT)
        return false;
    if (dev->script->object[i].kind == SCRIPT_AH)
        return !dev->at[i].ah;
    return !dev->at[i].pd && !dev->at[i].cq && !dev->at[i].srq && !dev->at[i].xrcd &&
           !dev->at[i].qp && !dev->at[i].mr && !dev->at[i].mw;
}

int device_rnic_verb(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    uint8_t group[16];
    const struct script_object *object =
        event->object == SCRIPT_NO_OBJECT ? NULL : &dev->script->object[event->object];

    if (uses_destroyed(dev, event))
        return RNIC_ERR_INVALID;
    switch (event->verb) {
    case SCRIPT_VERB_RECV: return post_recv(dev, event);
    case SCRIPT_VERB_STORE: return store_bytes(dev, event);
    case SCRIPT_VERB_MODIFY: return modify_object(dev, event, now);
    case SCRIPT_VERB_DESTROY: return destroy_object(dev, event->object);
    case SCRIPT_VERB_ARM:
        dev->api->rnic_cq_arm(dev->at[event->object].cq,
                              script_given(&event->options, SCRIPT_OPT_SOLICITED));
        return 0;
    case SCRIPT_VERB_ATTACH:
    case SCRIPT_VERB_DETACH:
        drill_net_group(dev->net, script_number(&event->options, SCRIPT_OPT_GROUP, 0), group);
        return event->verb == SCRIPT_VERB_ATTACH
                   ? dev->api->rnic_mcast_attach(dev->at[event->object].qp, group)
                   : dev->api->rnic_mcast_detach(dev->at[event->object].qp, group);
    case SCRIPT_VERB_LISTEN:
    case SCRIPT_VERB_CONNECT:
    case SCRIPT_VERB_ACCEPT:
    case SCRIPT_VERB_REJECT:
    case SCRIPT_VERB_ESTABLISH:
    case SCRIPT_VERB_DISCONNECT: {
        int rc = device_cm_verb(&dev->cm, event, object ? dev->at[event->object].number : 0,
                                object ? drill_own_psn(object) : 0, now);

        device_cm_run(&dev->cm, now);
        return rc;
    }
    default: return post_send(dev, event);
    }
}
