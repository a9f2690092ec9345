/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_cm.h"

#include <stdlib.h>
#include <string.h>
#include "cm/conn.h"
#include "wire/gid.h"

#define CA_GUID       UINT64_C(0x0200000000000002)
#define ACK_DELAY     14 /* code of the CM's target ACK delay */
#define BUFFER_LEN    ((DEVICE_CM_RECVS + 1) * DEVICE_CM_RECV_LEN)
#define SEND_OFFSET   (DEVICE_CM_RECVS * DEVICE_CM_RECV_LEN)
#define CM_SENDS      64u /* maximum number of outstanding sends of QP 1 */
#define DEFAULT_RETRY 7u

static int post_buffer(struct device_cm *c, uint64_t id)
{
    const struct rnic_sge sge = {
        .addr = id * DEVICE_CM_RECV_LEN, .len = DEVICE_CM_RECV_LEN, .lkey = rnic_mr_key(c->mr)};
    const struct rnic_recv_wr wr = {.wr_id = id, .sge = &sge, .sge_cnt = 1};

    return rnic_post_recv(c->gsi, &wr);
}

int device_cm_open(struct device_cm *c, struct rnic *rnic, struct rnic_pd *pd,
                   const struct drill_net *net)
{
    const struct rnic_cm_attr attr = {.ca_guid = CA_GUID, .seed = {1, 2}};
    struct rnic_qp_init init = {.type = RNIC_QPT_GSI,
                                .qpn = ROCE_QP_GSI,
                                .max_recv_wr = DEVICE_CM_RECVS,
                                .max_recv_sge = 1,
                                .max_send_wr = CM_SENDS,
                                .max_send_sge = 1,
                                .max_inline = ROCE_MAD_SIZE};
    struct rnic_qp_attr qp = {.pkey = 0xFFFF};
    struct rnic_mr_attr mr = {.len = BUFFER_LEN,
                              .access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_ZERO_BASED};
    struct rnic_av av = {.sgid_idx = 0};
    int rc;

    memcpy(av.dmac, net->own_mac, 6);
    memcpy(av.dgid, net->own_addr, 16);
    memcpy(c->addr.local, net->dut_addr, 16);
    memcpy(c->addr.remote, net->own_addr, 16);
    c->buf = calloc(1, BUFFER_LEN);
    c->cm = rnic_cm_new(&attr);
    mr.addr = c->buf;
    if (!c->buf || !c->cm)
        return RNIC_ERR_NOMEM;
    rc = rnic_mr_reg(pd, &mr, &c->mr);
    if (rc == 0)
        rc = rnic_cq_new(rnic, DEVICE_CM_RECVS + CM_SENDS, &c->cq);
    init.send_cq = init.recv_cq = c->cq;
    if (rc == 0)
        rc = rnic_qp_new(pd, &init, &c->gsi);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= RNIC_QPS_RTS; state++) {
        qp.state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(c->gsi, &qp, 0);
    }
    if (rc == 0)
        rc = rnic_ah_new(pd, &av, &c->ah);
    for (uint64_t i = 0; rc == 0 && i < DEVICE_CM_RECVS; i++)
        rc = post_buffer(c, i);
    return rc;
}

void device_cm_close(struct device_cm *c)
{
    rnic_cm_del(c->cm);
    free(c->buf);
    memset(c, 0, sizeof(*c));
}

/* Returns the parameters of the program's QP that both a REQ and a REP contain. */
static struct rnic_cm_param param_of(const struct script_options *o, uint32_t qpn, uint32_t psn)
{
    return (struct rnic_cm_param){
        .type = RNIC_QPT_RC,
        .qpn = qpn,
        .starting_psn = psn,
        .responder_resources = (uint8_t)script_number(o, SCRIPT_OPT_RESOURCES, 4),
        .initiator_depth = (uint8_t)script_number(o, SCRIPT_OPT_RD_ATOMIC, 4),
        .retry_count = (uint8_t)script_number(o, SCRIPT_OPT_RETRY, DEFAULT_RETRY),
        .rnr_retry_count = (uint8_t)script_number(o, SCRIPT_OPT_RNR_RETRY, DEFAULT_RETRY),
    };
}

static int connect_qp(struct device_cm *c, const struct script_event *event, uint32_t qpn,
                      uint32_t psn, uint64_t now)
{
    const struct script_options *o = &event->options;
    const struct rnic_cm_param param = param_of(o, qpn, psn);
    struct rnic_cm_ip ip = {.space = ROCE_CM_PS_TCP,
                            .sport = 40000,
                            .dport = (uint16_t)script_number(o, SCRIPT_OPT_PORT, 0)};
    struct rnic_cm_path path;
    struct roce_cm_req req;
    int rc;

    memcpy(ip.src, c->addr.local, 16);
    memcpy(ip.dst, c->addr.remote, 16);
    rnic_cm_path_defaults(&path);
    path.mtu = 3;
    path.hop_limit = 64;
    path.ack_delay = ACK_DELAY;
    if (script_given(o, SCRIPT_OPT_TIMEOUT))
        path.packet_life_time = (uint8_t)script_number(o, SCRIPT_OPT_TIMEOUT, 0);
    c->id = rnic_cm_id_new(c->cm, NULL);
    if (!c->id)
        return RNIC_ERR_NOMEM;
    rc = rnic_cm_make_req(&req, &param, &path, &ip, &c->addr, CA_GUID);
    return rc ? rc : rnic_cm_connect(c->id, &req, &c->addr, now);
}

static int accept_qp(struct device_cm *c, const struct script_event *event, uint32_t qpn,
                     uint32_t psn, uint64_t now)
{
    const struct rnic_cm_param param = param_of(&event->options, qpn, psn);
    struct rnic_cm_path path;
    struct roce_cm_rep rep;
    int rc;

    rnic_cm_path_defaults(&path);
    path.ack_delay = ACK_DELAY;
    rc = rnic_cm_make_rep(&rep, &param, &path, CA_GUID);
    return rc ? rc : rnic_cm_accept(c->id, &rep, now);
}

int device_cm_verb(struct device_cm *c, const struct script_event *event, uint32_t qpn,
                   uint32_t psn, uint64_t now)
{
    if (!c->cm)
        return RNIC_ERR_INVALID;
    switch (event->verb) {
    case SCRIPT_VERB_LISTEN:
        c->listener = rnic_cm_id_new(c->cm, NULL);
        return c->listener
                   ? rnic_cm_listen(
                         c->listener,
                         roce_cm_sid(ROCE_CM_PS_TCP,
                                     (uint16_t)script_number(&event->options, SCRIPT_OPT_PORT, 0)),
                         NULL)
                   : RNIC_ERR_NOMEM;
    case SCRIPT_VERB_CONNECT: return connect_qp(c, event, qpn, psn, now);
    default: break;
    }
    if (!c->id)
        return RNIC_ERR_STATE;
    switch (event->verb) {
    case SCRIPT_VERB_ACCEPT: return accept_qp(c, event, qpn, psn, now);
    case SCRIPT_VERB_REJECT:
        return rnic_cm_reject(
            c->id, (enum roce_cm_rej_reason)script_number(&event->options, SCRIPT_OPT_REASON, 28),
            NULL, 0, now);
    case SCRIPT_VERB_ESTABLISH: return rnic_cm_establish(c->id, NULL, 0, now);
    case SCRIPT_VERB_DISCONNECT: return rnic_cm_disconnect(c->id, NULL, 0, now);
    default: return RNIC_ERR_INVALID;
    }
}

static void take_mads(struct device_cm *c, uint64_t now)
{
    struct rnic_wc wc;

    while (rnic_cq_poll(c->cq, &wc, 1) == 1) {
        const uint8_t *buf = c->buf + wc.wr_id * DEVICE_CM_RECV_LEN;

        if (wc.opcode != RNIC_WC_RECV || wc.status != RNIC_WC_SUCCESS)
            continue;
        rnic_cm_input(c->cm, buf + 40, wc.byte_len - 40, &c->addr, now);
        post_buffer(c, wc.wr_id);
    }
}

static void send_mads(struct device_cm *c)
{
    struct rnic_cm_addr addr;

    while (rnic_cm_output(c->cm, c->buf + SEND_OFFSET, &addr)) {
        const struct rnic_sge sge = {.addr = (uintptr_t)(c->buf + SEND_OFFSET),
                                     .len = ROCE_MAD_SIZE};
        const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND,
                                        .flags = RNIC_SEND_INLINE,
                                        .sge = &sge,
                                        .sge_cnt = 1,
                                        .ah = c->ah,
                                        .remote_qpn = ROCE_QP_GSI,
                                        .remote_qkey = ROCE_QKEY_GSI};

        if (rnic_post_send(c->gsi, &wr) != 0)
            return;
    }
}

void device_cm_run(struct device_cm *c, uint64_t now)
{
    struct rnic_cm_event event;

    if (!c->cm)
        return;
    take_mads(c, now);
    if (rnic_cm_deadline(c->cm) <= now)
        rnic_cm_expire(c->cm, now);
    while (rnic_cm_event(c->cm, &event)) {
        if (event.type == RNIC_CM_REQUEST)
            c->id = event.id;
        if (c->event_cnt < DEVICE_CM_EVENTS)
            c->event[c->event_cnt++] = event.type;
    }
    send_mads(c);
}

uint64_t device_cm_deadline(const struct device_cm *c)
{
    return c->cm ? rnic_cm_deadline(c->cm) : RNIC_NEVER;
}

bool device_cm_event(struct device_cm *c, unsigned *type)
{
    if (c->event_cnt == 0)
        return false;
    *type = c->event[0];
    memmove(c->event, c->event + 1, --c->event_cnt * sizeof(c->event[0]));
    return true;
}
