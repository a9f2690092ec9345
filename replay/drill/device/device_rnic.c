/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_rnic.h"

#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/device/device_rnic_objects.h"
#include "drill/device/device_rnic_verbs.h"
#include "drill/words.h"

static bool script_needs(const struct script *script, const char *need)
{
    for (unsigned i = 0; i < script->need_cnt; i++)
        if (strcmp(script->need[i], need) == 0)
            return true;
    return false;
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
                                        struct drill_net *net, bool *unreachable,
                                        struct error *error)
{
    /* Order of creation: an object comes after the objects that it uses. */
    static const enum script_object_kind order[] = {SCRIPT_PD,  SCRIPT_CQ, SCRIPT_XRCD,
                                                    SCRIPT_SRQ, SCRIPT_QP, SCRIPT_MR,
                                                    SCRIPT_MW,  SCRIPT_AH, SCRIPT_PEER};
    struct drill_device *dev = calloc(1, sizeof(*dev));
    struct rnic_attr attr = {.gid_cnt = 1, .seed = 1};
    int rc;

    (void)unreachable; /* every script can be played */
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
    if (dev->recv_len <= DEVICE_RNIC_MEMORY_MAX)
        dev->recv_block = calloc(1, dev->recv_len + 1);
    dev->rnic = dev->api->rnic_new(&attr);
    rc = dev->rnic && dev->recv_block ? 0 : RNIC_ERR_NOMEM;
    if (rc == 0)
        rc = dev->api->rnic_pd_new(dev->rnic, &dev->pd);
    if (rc == 0)
        rc = dev->api->rnic_cq_new(dev->rnic, DEVICE_RNIC_CQ_DEPTH, &dev->cq);
    if (rc == 0)
        rc = dev->api->rnic_xrcd_new(dev->rnic, &dev->xrcd);
    if (rc != 0)
        error_set(error, "%s: %s", script->path, rnic_error_text(rc));
    for (unsigned k = 0; rc == 0 && k < sizeof(order) / sizeof(order[0]); k++)
        for (int i = 0; rc == 0 && i < script->object_cnt; i++) {
            if (script->object[i].kind != order[k])
                continue;
            rc = device_rnic_make(dev, i);
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

/* ---- numbers and states ---------------------------------------------------------------------- */

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

/* Returns whether `id` is the id of a receive that was posted to this QP or to an SRQ. If a
 * completion has an error status, its opcode is not valid, so only its id identifies a receive. */
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
    memcpy(buf, dev->at[object].block + DEVICE_RNIC_GUARD_LEN + off, len);
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
        for (unsigned k = 0; dev->at[i].block && k < DEVICE_RNIC_GUARD_LEN; k++)
            if (dev->at[i].block[k] != DEVICE_RNIC_GUARD_BYTE ||
                dev->at[i].block[DEVICE_RNIC_GUARD_LEN + dev->at[i].len + k] !=
                    DEVICE_RNIC_GUARD_BYTE)
                return false;
    return true;
}

const struct drill_device_ops device_rnic_ops = {
    .supports = words_is_need, /* the software RNIC has every capability that a drill can name */
    .open = device_open,
    .close = device_close,
    .input = device_input,
    .output = device_output,
    .deadline = device_deadline,
    .expire = device_expire,
    .verb = device_rnic_verb,
    .poll = device_poll,
    .async = device_async,
    .notified = device_notified,
    .cm_event = device_cm_take_event,
    .address = device_rnic_address,
    .key = device_rnic_key,
    .number = device_number,
    .state = device_state,
    .read = device_read,
    .read_recv = device_read_recv,
    .counter = device_counter,
    .guards_intact = device_guards_intact,
};
