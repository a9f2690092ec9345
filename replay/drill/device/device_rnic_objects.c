/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_rnic_objects.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_MTU 1024u

static uint64_t default_address(int object)
{
    return UINT64_C(0x7F0000001000) + ((uint64_t)object << 32);
}

void device_rnic_fill(uint8_t *mem, uint64_t len, const struct script_fill *fill)
{
    switch (fill->kind) {
    case SCRIPT_FILL_PATTERN:
        for (uint64_t i = 0; i < len; i++)
            mem[i] = script_pattern(fill->pattern, i + fill->off);
        break;
    case SCRIPT_FILL_DATA: memcpy(mem, fill->data, fill->len < len ? fill->len : len); break;
    default: break;
    }
}

struct rnic_pd *device_rnic_pd(struct drill_device *dev, const struct script_options *o)
{
    return script_given(o, SCRIPT_OPT_PD) ? dev->at[o->value[SCRIPT_OPT_PD].object].pd : dev->pd;
}

static struct rnic_cq *cq_of(struct drill_device *dev, const struct script_options *o,
                             enum script_opt opt)
{
    return script_given(o, opt) ? dev->at[o->value[opt].object].cq : dev->cq;
}

static struct rnic_xrcd *xrcd_of(struct drill_device *dev, const struct script_options *o)
{
    return script_given(o, SCRIPT_OPT_XRCD) ? dev->at[o->value[SCRIPT_OPT_XRCD].object].xrcd
                                            : dev->xrcd;
}

static int make_mr(struct drill_device *dev, int i)
{
    const struct script_options *o = &dev->script->object[i].options;
    struct rnic_mr_attr attr = {
        .len = script_number(o, SCRIPT_OPT_LEN, 0),
        .iova = script_number(o, SCRIPT_OPT_IOVA, default_address(i)),
        .access = (unsigned)script_number(o, SCRIPT_OPT_ACCESS, 0),
        .invalidate = script_given(o, SCRIPT_OPT_INVALIDATES),
    };
    int rc;

    if (attr.len > DEVICE_RNIC_MEMORY_MAX)
        return RNIC_ERR_NOMEM;
    dev->at[i].len = attr.len;
    dev->at[i].block = malloc(attr.len + 2 * DEVICE_RNIC_GUARD_LEN);
    if (!dev->at[i].block)
        return RNIC_ERR_NOMEM;
    memset(dev->at[i].block, DEVICE_RNIC_GUARD_BYTE, attr.len + 2 * DEVICE_RNIC_GUARD_LEN);
    attr.addr = dev->at[i].block + DEVICE_RNIC_GUARD_LEN;
    memset(attr.addr, 0, attr.len);
    device_rnic_fill(attr.addr, attr.len, &o->fill);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED))
        attr.access |= RNIC_ACCESS_ZERO_BASED;
    rc = dev->api->rnic_mr_reg(device_rnic_pd(dev, o), &attr, &dev->at[i].mr);
    if (rc == 0)
        dev->at[i].key = dev->api->rnic_mr_key(dev->at[i].mr);
    return rc;
}

static int make_srq(struct drill_device *dev, int i)
{
    const struct script_options *o = &dev->script->object[i].options;
    struct rnic_srq_init init = {
        .max_wr = (uint32_t)script_number(o, SCRIPT_OPT_DEPTH, 64),
        .max_sge = 2,
        .limit = (uint32_t)script_number(o, SCRIPT_OPT_LIMIT, 0),
    };
    bool xrc = script_given(o, SCRIPT_OPT_XRCD);
    int rc;

    /* An SRQ without the option `xrcd` becomes an XRC SRQ if the drill has an XRC target QP. */
    for (int k = 0; k < dev->script->object_cnt; k++)
        if (dev->script->object[k].kind == SCRIPT_QP)
            xrc |= dev->script->object[k].service == SCRIPT_XRC;
    if (xrc) {
        init.xrcd = xrcd_of(dev, o);
        init.cq = cq_of(dev, o, SCRIPT_OPT_CQ);
    }
    rc = dev->api->rnic_srq_new(device_rnic_pd(dev, o), &init, &dev->at[i].srq);
    if (rc == 0)
        dev->at[i].number = dev->api->rnic_srq_num(dev->at[i].srq);
    return rc;
}

static void set_av(const struct drill_device *dev, const struct script_options *o,
                   struct rnic_av *av)
{
    memcpy(av->dmac, dev->net->own_mac, 6);
    memcpy(av->dgid, dev->net->own_addr, 16);
    av->tclass = (uint8_t)script_number(o, SCRIPT_OPT_TCLASS, 0);
    av->hop_limit = (uint8_t)script_number(o, SCRIPT_OPT_HOP_LIMIT, 64);
}

void device_rnic_qp_attr(const struct drill_device *dev, int i, struct rnic_qp_attr *attr)
{
    const struct script_options *o = &dev->script->object[i].options;

    *attr = (struct rnic_qp_attr){
        .access = (unsigned)script_number(o, SCRIPT_OPT_ACCESS, RNIC_ACCESS_REMOTE),
        .pkey = (uint16_t)script_number(o, SCRIPT_OPT_PKEY, 0xFFFF),
        .qkey = (uint32_t)script_number(o, SCRIPT_OPT_QKEY, 0x11111111),
        .path_mtu = (uint32_t)script_number(o, SCRIPT_OPT_MTU, DEFAULT_MTU),
        .dest_qpn = drill_own_qpn(dev->net, i),
        .rq_psn = drill_own_psn(&dev->script->object[i]),
        .max_dest_rd_atomic = (uint8_t)script_number(o, SCRIPT_OPT_RESOURCES, 4),
        .min_rnr_timer = (uint8_t)script_number(o, SCRIPT_OPT_RNR_TIMER, 12),
        .sq_psn = drill_dut_psn(&dev->script->object[i]),
        .max_rd_atomic = (uint8_t)script_number(o, SCRIPT_OPT_RD_ATOMIC, 4),
        .timeout = (uint8_t)script_number(o, SCRIPT_OPT_TIMEOUT, 14),
        .retry_cnt = (uint8_t)script_number(o, SCRIPT_OPT_RETRY, 7),
        .rnr_retry = (uint8_t)script_number(o, SCRIPT_OPT_RNR_RETRY, 7),
    };
    set_av(dev, o, &attr->av);
}

static int make_qp(struct drill_device *dev, int i)
{
    static const enum rnic_qp_type types[] = {
        [SCRIPT_RC] = RNIC_QPT_RC,
        [SCRIPT_UC] = RNIC_QPT_UC,
        [SCRIPT_UD] = RNIC_QPT_UD,
        [SCRIPT_XRC] = RNIC_QPT_XRC_RECV,
        [SCRIPT_XRC_SEND] = RNIC_QPT_XRC_SEND,
        [SCRIPT_GSI] = RNIC_QPT_GSI,
    };
    const struct script_object *object = &dev->script->object[i];
    const struct script_options *o = &object->options;
    enum rnic_qp_state last = (enum rnic_qp_state)script_number(o, SCRIPT_OPT_STATE, RNIC_QPS_RTS);
    struct rnic_qp_init init = {
        .type = types[object->service],
        .send_cq = cq_of(dev, o, SCRIPT_OPT_CQ),
        .recv_cq =
            cq_of(dev, o, script_given(o, SCRIPT_OPT_RECV_CQ) ? SCRIPT_OPT_RECV_CQ : SCRIPT_OPT_CQ),
        .max_recv_wr = (uint32_t)script_number(o, SCRIPT_OPT_RECVS, 64),
        .max_recv_sge = 2,
        .max_send_wr = (uint32_t)script_number(o, SCRIPT_OPT_SENDS, 64),
        .max_send_sge = 2,
        .max_inline = 256,
        .qpn = object->service == SCRIPT_GSI ? ROCE_QP_GSI : 0,
    };
    struct rnic_qp_attr attr;
    int rc;

    if (script_given(o, SCRIPT_OPT_SRQ))
        init.srq = dev->at[o->value[SCRIPT_OPT_SRQ].object].srq;
    if (object->service == SCRIPT_XRC) {
        init.xrcd = xrcd_of(dev, o);
        init.max_recv_wr = init.max_send_wr = 0;
        init.send_cq = init.recv_cq = NULL;
    }
    if (object->service == SCRIPT_XRC_SEND)
        init.max_recv_wr = 0;
    device_rnic_qp_attr(dev, i, &attr);
    rc = dev->api->rnic_qp_new(device_rnic_pd(dev, o), &init, &dev->at[i].qp);
    if (rc != 0)
        return rc;
    dev->at[i].number = dev->api->rnic_qp_qpn(dev->at[i].qp);
    if (last == RNIC_QPS_SQE)
        return RNIC_ERR_INVALID;
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= (int)last && state <= RNIC_QPS_SQD;
         state++) {
        attr.state = (enum rnic_qp_state)state;
        rc = dev->api->rnic_qp_modify(dev->at[i].qp, &attr, 0);
    }
    if (rc == 0 && (object->service == SCRIPT_UD || object->service == SCRIPT_GSI))
        rc = dev->api->rnic_ah_new(device_rnic_pd(dev, o), &attr.av, &dev->at[i].ah);
    return rc;
}

static int make_ah(struct drill_device *dev, int i)
{
    const struct script_options *o = &dev->script->object[i].options;
    struct rnic_av av = {0};

    set_av(dev, o, &av);
    if (script_given(o, SCRIPT_OPT_GROUP)) {
        memset(av.dmac, 0, sizeof(av.dmac));
        drill_net_group(dev->net, script_number(o, SCRIPT_OPT_GROUP, 0), av.dgid);
    }
    return dev->api->rnic_ah_new(device_rnic_pd(dev, o), &av, &dev->at[i].ah);
}

int device_rnic_make(struct drill_device *dev, int i)
{
    const struct script_object *object = &dev->script->object[i];
    const struct script_options *o = &object->options;

    switch (object->kind) {
    case SCRIPT_PD: return dev->api->rnic_pd_new(dev->rnic, &dev->at[i].pd);
    case SCRIPT_CQ:
        return dev->api->rnic_cq_new(
            dev->rnic, (uint32_t)script_number(o, SCRIPT_OPT_DEPTH, DEVICE_RNIC_CQ_DEPTH),
            &dev->at[i].cq);
    case SCRIPT_XRCD: return dev->api->rnic_xrcd_new(dev->rnic, &dev->at[i].xrcd);
    case SCRIPT_SRQ: return make_srq(dev, i);
    case SCRIPT_QP: return make_qp(dev, i);
    case SCRIPT_MR: return make_mr(dev, i);
    case SCRIPT_MW:
        return dev->api->rnic_mw_new(device_rnic_pd(dev, o),
                                     script_number(o, SCRIPT_OPT_TYPE, 1) == 1 ? RNIC_MW_TYPE_1
                                                                               : RNIC_MW_TYPE_2,
                                     &dev->at[i].mw);
    case SCRIPT_AH: return make_ah(dev, i);
    case SCRIPT_PEER: return 0;
    }
    return RNIC_ERR_INVALID;
}

uint32_t device_rnic_recv_key(struct drill_device *dev, struct rnic_pd *pd)
{
    const struct rnic_mr_attr attr = {.addr = dev->recv_block,
                                      .len = dev->recv_len,
                                      .iova = UINT64_C(0x7E0000000000),
                                      .access = RNIC_ACCESS_LOCAL_WRITE};

    for (unsigned i = 0; i < dev->recv_mr_cnt; i++)
        if (dev->recv_pd[i] == pd)
            return dev->api->rnic_mr_key(dev->recv_mr[i]);
    if (dev->api->rnic_mr_reg(pd, &attr, &dev->recv_mr[dev->recv_mr_cnt]) != 0)
        return 0;
    dev->recv_pd[dev->recv_mr_cnt] = pd;
    return dev->api->rnic_mr_key(dev->recv_mr[dev->recv_mr_cnt++]);
}

uint64_t device_rnic_address(const struct drill_device *dev, int object)
{
    const struct script_options *o = &dev->script->object[object].options;

    if (dev->script->object[object].kind == SCRIPT_PEER)
        return drill_own_address(object);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED) || dev->script->object[object].kind == SCRIPT_MW)
        return 0;
    return script_number(o, SCRIPT_OPT_IOVA, default_address(object));
}

uint32_t device_rnic_key(const struct drill_device *dev, int object)
{
    switch (dev->script->object[object].kind) {
    case SCRIPT_PEER: return drill_own_key(object);
    case SCRIPT_MW: return dev->at[object].mw ? dev->api->rnic_mw_rkey(dev->at[object].mw) : 0;
    default: return dev->at[object].key;
    }
}
