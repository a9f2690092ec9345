/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_rnic.h"

#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/device/device_cm.h"
#include "drill/device/rnic_api.h"

#define GUARD_LEN   64u
#define GUARD_BYTE  0xA5
#define MEMORY_MAX  (UINT64_C(1) << 26) /* maximum length of an MR, bytes */
#define CQ_DEPTH    4096u
#define RECV_MAX    1024u /* maximum number of receives in one drill */
#define DEFAULT_MTU 1024u

/* A posted receive and its buffer in the device's receive memory. */
struct recv_buffer {
    int object; /* QP or SRQ */
    uint64_t id;
    uint64_t off;
    uint32_t len;
    bool named; /* the program named the memory of the receive: `place` is used instead of the
                 * receive memory */
    struct script_value place;
};

struct drill_device {
    const struct rnic_api *api;
    const struct script *script;
    const struct drill_net *net;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_xrcd *xrcd;
    struct rnic_cq *cq;
    struct {
        struct rnic_pd *pd;
        struct rnic_cq *cq;
        struct rnic_srq *srq;
        struct rnic_xrcd *xrcd;
        struct rnic_qp *qp;
        struct rnic_mr *mr;
        struct rnic_mw *mw;
        struct rnic_ah *ah;
        uint8_t *block; /* memory of an MR, between two guards */
        uint64_t len;
        uint32_t key, number; /* keys and numbers remain after the object is destroyed */
    } at[SCRIPT_OBJECTS_MAX];
    uint8_t *recv_block;
    uint64_t recv_len, recv_used;
    struct rnic_pd *recv_pd[SCRIPT_OBJECTS_MAX]; /* PDs in which the receive memory is registered */
    struct rnic_mr *recv_mr[SCRIPT_OBJECTS_MAX];
    unsigned recv_mr_cnt;
    struct recv_buffer recv[RECV_MAX];
    unsigned recv_cnt;
    struct device_cm cm;
};

static const char *const capabilities[] = {
    "uc",        "ud",       "xrc",          "srq",        "mw",      "mw-2a",
    "mw-2b",     "flush",    "atomic-write", "cnp",        "cm",      "atomic",
    "multicast", "counters", "invalidate",   "zero-based", "credits", "exact-time",
};

static bool device_supports(const char *need)
{
    for (unsigned i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
        if (strcmp(need, capabilities[i]) == 0)
            return true;
    return false;
}

static bool script_needs(const struct script *script, const char *need)
{
    for (unsigned i = 0; i < script->need_cnt; i++)
        if (strcmp(script->need[i], need) == 0)
            return true;
    return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

static uint64_t default_address(int object)
{
    return UINT64_C(0x7F0000001000) + ((uint64_t)object << 32);
}

static void fill_memory(uint8_t *mem, uint64_t len, const struct script_fill *fill)
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

static struct rnic_pd *pd_of(struct drill_device *dev, const struct script_options *o)
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

    if (attr.len > MEMORY_MAX)
        return RNIC_ERR_NOMEM;
    dev->at[i].len = attr.len;
    dev->at[i].block = malloc(attr.len + 2 * GUARD_LEN);
    if (!dev->at[i].block)
        return RNIC_ERR_NOMEM;
    memset(dev->at[i].block, GUARD_BYTE, attr.len + 2 * GUARD_LEN);
    attr.addr = dev->at[i].block + GUARD_LEN;
    memset(attr.addr, 0, attr.len);
    fill_memory(attr.addr, attr.len, &o->fill);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED))
        attr.access |= RNIC_ACCESS_ZERO_BASED;
    rc = dev->api->rnic_mr_reg(pd_of(dev, o), &attr, &dev->at[i].mr);
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

    /* An SRQ without an XRC option is an XRC SRQ if the drill has an XRC target QP. */
    for (int k = 0; k < dev->script->object_cnt; k++)
        if (dev->script->object[k].kind == SCRIPT_QP)
            xrc |= dev->script->object[k].service == SCRIPT_XRC;
    if (xrc) {
        init.xrcd = xrcd_of(dev, o);
        init.cq = cq_of(dev, o, SCRIPT_OPT_CQ);
    }
    rc = dev->api->rnic_srq_new(pd_of(dev, o), &init, &dev->at[i].srq);
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
    av->udp_sport = (uint16_t)script_number(o, SCRIPT_OPT_PORT, 0);
}

static void set_qp_attr(const struct drill_device *dev, int i, struct rnic_qp_attr *attr)
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
    set_qp_attr(dev, i, &attr);
    rc = dev->api->rnic_qp_new(pd_of(dev, o), &init, &dev->at[i].qp);
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
        rc = dev->api->rnic_ah_new(pd_of(dev, o), &attr.av, &dev->at[i].ah);
    return rc;
}

static int make_object(struct drill_device *dev, int i)
{
    const struct script_object *object = &dev->script->object[i];
    const struct script_options *o = &object->options;

    switch (object->kind) {
    case SCRIPT_PD: return dev->api->rnic_pd_new(dev->rnic, &dev->at[i].pd);
    case SCRIPT_CQ:
        return dev->api->rnic_cq_new(
            dev->rnic, (uint32_t)script_number(o, SCRIPT_OPT_DEPTH, CQ_DEPTH), &dev->at[i].cq);
    case SCRIPT_XRCD: return dev->api->rnic_xrcd_new(dev->rnic, &dev->at[i].xrcd);
    case SCRIPT_SRQ: return make_srq(dev, i);
    case SCRIPT_QP: return make_qp(dev, i);
    case SCRIPT_MR: return make_mr(dev, i);
    case SCRIPT_MW:
        return dev->api->rnic_mw_new(pd_of(dev, o),
                                     script_number(o, SCRIPT_OPT_TYPE, 1) == 1 ? RNIC_MW_TYPE_1
                                                                               : RNIC_MW_TYPE_2,
                                     &dev->at[i].mw);
    case SCRIPT_PEER: return 0;
    }
    return RNIC_ERR_INVALID;
}

/* Returns the L_Key of the receive memory in a PD. Registers the memory on first use. Returns 0 if
 * out of memory. */
static uint32_t recv_key(struct drill_device *dev, struct rnic_pd *pd)
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

/* Sets the P_Key table: the default P_Key, and the P_Keys of the script's QPs. */
static void set_pkeys(const struct script *script, struct rnic_attr *attr)
{
    attr->pkey[attr->pkey_cnt++] = 0xFFFF;
    for (int i = 0; i < script->object_cnt && attr->pkey_cnt < RNIC_PKEY_MAX; i++) {
        uint16_t pkey =
            (uint16_t)script_number(&script->object[i].options, SCRIPT_OPT_PKEY, 0xFFFF);
        bool known = false;

        for (unsigned k = 0; k < attr->pkey_cnt; k++)
            known |= attr->pkey[k] == pkey;
        if (!known)
            attr->pkey[attr->pkey_cnt++] = pkey;
    }
}

static void device_close(struct drill_device *dev)
{
    device_cm_close(&dev->cm);
    dev->api->rnic_del(dev->rnic);
    for (unsigned i = 0; i < SCRIPT_OBJECTS_MAX; i++)
        free(dev->at[i].block);
    free(dev->recv_block);
    free(dev);
}

static struct drill_device *device_open(const void *config, const struct script *script,
                                        struct drill_net *net, struct error *error)
{
    /* Order of creation: an object comes after the objects that it uses. */
    static const enum script_object_kind order[] = {SCRIPT_PD, SCRIPT_CQ, SCRIPT_XRCD, SCRIPT_SRQ,
                                                    SCRIPT_QP, SCRIPT_MR, SCRIPT_MW,   SCRIPT_PEER};
    struct drill_device *dev = calloc(1, sizeof(*dev));
    struct rnic_attr attr = {.gid_cnt = 1, .seed = 1};
    int rc;

    if (!dev) {
        error_set(error, "%s: no memory", script->path);
        return NULL;
    }
    dev->api = config ? config : &rnic_api_own;
    dev->script = script;
    dev->net = net;
    if (dev->api != &rnic_api_own && script_needs(script, "cm")) {
        error_set(error, DRILL_UNSUPPORTED_TEXT "cm (a library has none)");
        free(dev);
        return NULL;
    }
    memcpy(attr.mac, net->dut_mac, 6);
    memcpy(attr.gid[0].gid, net->dut_addr, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    attr.mw_2a = script_needs(script, "mw-2a");
    set_pkeys(script, &attr);
    if (script_needs(script, "cnp"))
        rnic_ecn_defaults(&attr.ecn);
    for (size_t i = 0; i < script->event_cnt; i++)
        if (script->event[i].kind == SCRIPT_VERB && script->event[i].verb == SCRIPT_VERB_RECV)
            dev->recv_len += script_number(&script->event[i].options, SCRIPT_OPT_LEN, 0);
    if (dev->recv_len <= MEMORY_MAX)
        dev->recv_block = calloc(1, dev->recv_len + 1);
    dev->rnic = dev->api->rnic_new(&attr);
    rc = dev->rnic && dev->recv_block ? 0 : RNIC_ERR_NOMEM;
    if (rc == 0)
        rc = dev->api->rnic_pd_new(dev->rnic, &dev->pd);
    if (rc == 0)
        rc = dev->api->rnic_cq_new(dev->rnic, CQ_DEPTH, &dev->cq);
    if (rc == 0)
        rc = dev->api->rnic_xrcd_new(dev->rnic, &dev->xrcd);
    if (rc != 0)
        error_set(error, "%s: %s", script->path, rnic_error_text(rc));
    for (unsigned k = 0; rc == 0 && k < sizeof(order) / sizeof(order[0]); k++)
        for (int i = 0; rc == 0 && i < script->object_cnt; i++) {
            if (script->object[i].kind != order[k])
                continue;
            rc = make_object(dev, i);
            if (rc != 0)
                error_set(error, "%s:%u: %s: %s", script->path, script->object[i].line,
                          script->object[i].name, rnic_error_text(rc));
        }
    if (rc == 0 && script_needs(script, "cm")) {
        rc = device_cm_open(&dev->cm, dev->rnic, dev->pd, net);
        if (rc != 0)
            error_set(error, "%s: CM: %s", script->path, rnic_error_text(rc));
    }
    if (rc == 0)
        return dev;
    device_close(dev);
    return NULL;
}

/* ---- live values ----------------------------------------------------------------------------- */

static uint64_t device_address(const struct drill_device *dev, int object)
{
    const struct script_options *o = &dev->script->object[object].options;

    if (dev->script->object[object].kind == SCRIPT_PEER)
        return drill_own_address(object);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED) || dev->script->object[object].kind == SCRIPT_MW)
        return 0;
    return script_number(o, SCRIPT_OPT_IOVA, default_address(object));
}

static uint32_t device_key(const struct drill_device *dev, int object)
{
    switch (dev->script->object[object].kind) {
    case SCRIPT_PEER: return drill_own_key(object);
    case SCRIPT_MW: return dev->at[object].mw ? dev->api->rnic_mw_rkey(dev->at[object].mw) : 0;
    default: return dev->at[object].key;
    }
}

static uint32_t device_number(const struct drill_device *dev, int object)
{
    return dev->at[object].number;
}

static unsigned device_state(const struct drill_device *dev, int object)
{
    struct rnic_qp_view view = {.state = RNIC_QPS_RESET};

    if (dev->at[object].qp)
        dev->api->rnic_qp_view(dev->at[object].qp, &view);
    return view.state;
}

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

    if (dev->recv_cnt == RECV_MAX)
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
            sge.addr += device_address(dev, buffer->place.object);
            sge.lkey = device_key(dev, buffer->place.object);
        }
    } else {
        sge.addr = UINT64_C(0x7E0000000000) + dev->recv_used;
        sge.lkey = recv_key(dev, pd_of(dev, &object->options));
        dev->recv_used += sge.len;
    }
    rc = object->kind == SCRIPT_SRQ ? dev->api->rnic_post_srq_recv(dev->at[event->object].srq, &wr)
                                    : dev->api->rnic_post_recv(dev->at[event->object].qp, &wr);
    if (rc == 0)
        dev->recv_cnt++;
    return rc;
}

/* Sets the SGE of a work request to a place in the device's memory. */
static void set_sge(const struct drill_device *dev, const struct script_value *place,
                    struct rnic_sge *sge)
{
    sge->addr = place->num;
    sge->lkey = 0;
    if (place->object != SCRIPT_NO_OBJECT) {
        sge->addr += device_address(dev, place->object);
        sge->lkey = device_key(dev, place->object);
    }
}

/* Sets the remote address and key of a work request to a place at the peer. */
static void set_remote(const struct drill_device *dev, const struct script_event *event,
                       const struct script_value *place, struct rnic_send_wr *wr)
{
    const struct script_value *key = &event->options.value[SCRIPT_OPT_KEY];

    wr->remote_addr = place->num;
    if (place->object != SCRIPT_NO_OBJECT) {
        wr->remote_addr += device_address(dev, place->object);
        wr->rkey = device_key(dev, place->object);
    }
    if (script_given(&event->options, SCRIPT_OPT_KEY))
        wr->rkey =
            key->object == SCRIPT_NO_OBJECT ? (uint32_t)key->num : device_key(dev, key->object);
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
    wr->mw.addr = device_address(dev, mr->object) + mr->num;
    wr->mw.len = script_number(o, SCRIPT_OPT_LEN, 0);
    wr->mw.access = (unsigned)script_number(o, SCRIPT_OPT_ACCESS, 0) &
                    (RNIC_ACCESS_REMOTE | RNIC_ACCESS_ZERO_BASED);
    if (script_given(o, SCRIPT_OPT_ZERO_BASED))
        wr->mw.access |= RNIC_ACCESS_ZERO_BASED;
    wr->mw.rkey = script_given(o, SCRIPT_OPT_KEY) ? (uint32_t)o->value[SCRIPT_OPT_KEY].num
                                                  : dev->api->rnic_mw_rkey(dev->at[window].mw) + 1;
    if (!script_given(o, SCRIPT_OPT_KEY)) /* only the low 8 bits of the key may change */
        wr->mw.rkey = (dev->api->rnic_mw_rkey(dev->at[window].mw) & ~0xFFu) | (wr->mw.rkey & 0xFF);
    return 0;
}

static uint32_t key_value(const struct drill_device *dev, const struct script_value *value)
{
    return value->object == SCRIPT_NO_OBJECT
               ? (uint32_t)value->num
               : device_key(dev, value->object) + (uint32_t)value->num;
}

static const struct {
    enum rnic_wr_opcode opcode, imm;
    enum script_opt local, remote;
    uint32_t len; /* length of the request in bytes if the script names none */
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

/* Posts a datagram to a multicast group. Creates an address handle for this request only. */
static int post_to_group(struct drill_device *dev, const struct script_event *event,
                         struct rnic_send_wr *wr)
{
    const struct script_options *o = &dev->script->object[event->object].options;
    struct rnic_av av = {.hop_limit = 64};
    struct rnic_ah *ah;
    int rc;

    drill_net_group(dev->net, script_number(&event->options, SCRIPT_OPT_GROUP, 0), av.dgid);
    rc = dev->api->rnic_ah_new(pd_of(dev, o), &av, &ah);
    if (rc != 0)
        return rc;
    wr->ah = ah;
    rc = dev->api->rnic_post_send(dev->at[event->object].qp, wr);
    dev->api->rnic_ah_del(ah);
    return rc;
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
        .ah = dev->at[event->object].ah,
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
            sge.addr = (uintptr_t)(dev->at[place->object].block + GUARD_LEN + place->num);
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
    return script_given(o, SCRIPT_OPT_GROUP)
               ? post_to_group(dev, event, &wr)
               : dev->api->rnic_post_send(dev->at[event->object].qp, &wr);
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
    fill_memory(dev->at[object].block + GUARD_LEN + event->place.num, len, &o->fill);
    return 0;
}

/* Options of "modify QP", and the QP attribute that each option sets. */
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

/* Runs "modify QP". With only a new state, passes all attributes that this state permits, with the
 * values of the object. With other options, passes only their attributes. */
static int modify_qp(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    const struct script_options *o = &event->options;
    struct rnic_qp_attr attr;
    unsigned mask = 0;

    set_qp_attr(dev, event->object, &attr);
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
    case SCRIPT_PEER: break;
    }
    return RNIC_ERR_INVALID;
}

/* Returns whether an object that the event uses was destroyed before. */
static bool uses_destroyed(const struct drill_device *dev, const struct script_event *event)
{
    int i = event->object;

    if (i == SCRIPT_NO_OBJECT)
        return false;
    return !dev->at[i].pd && !dev->at[i].cq && !dev->at[i].srq && !dev->at[i].xrcd &&
           !dev->at[i].qp && !dev->at[i].mr && !dev->at[i].mw;
}

static int device_verb(struct drill_device *dev, const struct script_event *event, uint64_t now)
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

/* ---- packets, completions, events ------------------------------------------------------------ */

static void device_input(struct drill_device *dev, const uint8_t *frame, size_t len, uint64_t now)
{
    dev->api->rnic_input(dev->rnic, frame, len, now);
    device_cm_run(&dev->cm, now);
}

static size_t device_output(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now)
{
    return dev->api->rnic_output(dev->rnic, buf, cap, now);
}

static uint64_t device_deadline(const struct drill_device *dev)
{
    uint64_t cm = device_cm_deadline(&dev->cm), own = dev->api->rnic_deadline(dev->rnic);

    return cm < own ? cm : own;
}

static void device_expire(struct drill_device *dev, uint64_t now)
{
    if (dev->api->rnic_deadline(dev->rnic) <= now)
        dev->api->rnic_expire(dev->rnic, now);
    device_cm_run(&dev->cm, now);
}

static int object_of_qpn(const struct drill_device *dev, uint32_t qpn)
{
    for (int i = 0; i < dev->script->object_cnt; i++)
        if (dev->script->object[i].kind == SCRIPT_QP && dev->at[i].number == qpn)
            return i;
    return SCRIPT_NO_OBJECT;
}

/* Returns whether the id belongs to a receive of this QP or its SRQ. A completion in error has no
 * valid opcode, so only its id identifies a receive. */
static bool is_recv_id(const struct drill_device *dev, int object, uint64_t id)
{
    for (unsigned i = 0; i < dev->recv_cnt; i++)
        if (dev->recv[i].id == id && (dev->recv[i].object == object ||
                                      dev->script->object[dev->recv[i].object].kind == SCRIPT_SRQ))
            return true;
    return false;
}

static bool poll_cq(struct drill_device *dev, struct rnic_cq *cq, struct drill_comp *out)
{
    struct rnic_wc wc;

    if (!cq || dev->api->rnic_cq_poll(cq, &wc, 1) != 1)
        return false;
    *out = (struct drill_comp){.object = object_of_qpn(dev, wc.qpn),
                               .id = wc.wr_id,
                               .status = wc.status,
                               .len = wc.byte_len,
                               .has_imm = wc.flags & RNIC_WC_WITH_IMM,
                               .has_invalidated = wc.flags & RNIC_WC_WITH_INV,
                               .imm = wc.imm,
                               .invalidated = wc.invalidated_key,
                               .solicited = wc.solicited,
                               .src_qp = wc.src_qp,
                               .header = wc.flags & RNIC_WC_GRH ? 40 : 0};
    out->recv = wc.status == RNIC_WC_SUCCESS ? wc.opcode >= RNIC_WC_RECV
                                             : is_recv_id(dev, out->object, out->id);
    return true;
}

static bool device_poll(struct drill_device *dev, struct drill_comp *out)
{
    for (int i = 0; i < dev->script->object_cnt; i++)
        if (poll_cq(dev, dev->at[i].cq, out))
            return true;
    return poll_cq(dev, dev->cq, out);
}

static bool device_async(struct drill_device *dev, struct drill_async *out)
{
    struct rnic_event event;

    if (!dev->api->rnic_event_get(dev->rnic, &event))
        return false;
    *out = (struct drill_async){.type = event.type, .object = SCRIPT_NO_OBJECT};
    for (int i = 0; i < dev->script->object_cnt; i++)
        if ((event.qp && dev->at[i].qp == event.qp) || (event.cq && dev->at[i].cq == event.cq) ||
            (event.srq && dev->at[i].srq == event.srq))
            out->object = i;
    return true;
}

static bool device_notified(struct drill_device *dev, int *cq)
{
    struct rnic_cq *found = dev->api->rnic_cq_notified(dev->rnic);

    *cq = SCRIPT_NO_OBJECT;
    for (int i = 0; found && i < dev->script->object_cnt; i++)
        if (dev->at[i].cq == found)
            *cq = i;
    return found != NULL;
}

static bool device_cm_take_event(struct drill_device *dev, unsigned *type)
{
    return device_cm_event(&dev->cm, type);
}

/* ---- memory and counters --------------------------------------------------------------------- */

static bool device_read(const struct drill_device *dev, int object, uint64_t off, void *buf,
                        size_t len)
{
    if (!dev->at[object].block || off > dev->at[object].len || len > dev->at[object].len - off)
        return false;
    memcpy(buf, dev->at[object].block + GUARD_LEN + off, len);
    return true;
}

static bool device_read_recv(const struct drill_device *dev, const struct drill_comp *comp,
                             void *buf, size_t len)
{
    for (unsigned i = dev->recv_cnt; i-- > 0;) {
        const struct recv_buffer *recv = &dev->recv[i];

        if (recv->id != comp->id ||
            (recv->object != comp->object && dev->script->object[recv->object].kind != SCRIPT_SRQ))
            continue;
        if (comp->header + len > recv->len)
            return false;
        if (recv->named)
            return recv->place.object != SCRIPT_NO_OBJECT &&
                   device_read(dev, recv->place.object, recv->place.num + comp->header, buf, len);
        memcpy(buf, dev->recv_block + recv->off + comp->header, len);
        return true;
    }
    return false;
}

static bool device_counter(const struct drill_device *dev, const char *name, uint64_t *out)
{
    struct rnic_counters counters;

    dev->api->rnic_counters_get(dev->rnic, &counters);
#define X(member, text)                                                                            \
    if (strcmp(name, #member) == 0) {                                                              \
        *out = counters.member;                                                                    \
        return true;                                                                               \
    }
    RNIC_COUNTERS(X)
#undef X
    return false;
}

static bool device_guards_intact(const struct drill_device *dev)
{
    for (unsigned i = 0; i < SCRIPT_OBJECTS_MAX; i++)
        for (unsigned k = 0; dev->at[i].block && k < GUARD_LEN; k++)
            if (dev->at[i].block[k] != GUARD_BYTE ||
                dev->at[i].block[GUARD_LEN + dev->at[i].len + k] != GUARD_BYTE)
                return false;
    return true;
}

const struct drill_device_ops device_rnic_ops = {
    .supports = device_supports,
    .open = device_open,
    .close = device_close,
    .input = device_input,
    .output = device_output,
    .deadline = device_deadline,
    .expire = device_expire,
    .verb = device_verb,
    .poll = device_poll,
    .async = device_async,
    .notified = device_notified,
    .cm_event = device_cm_take_event,
    .address = device_address,
    .key = device_key,
    .number = device_number,
    .state = device_state,
    .read = device_read,
    .read_recv = device_read_recv,
    .counter = device_counter,
    .guards_intact = device_guards_intact,
};
