/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_host.h"

#include <string.h>

const char *end_open(struct end *end, const uint8_t addr[16], enum roce_encap encap,
                     const uint8_t mac[6], uint16_t pkey, uint32_t cqes)
{
    struct rnic_attr attr = {.gid_cnt = 1};

    memcpy(attr.mac, mac, 6);
    memcpy(attr.gid[0].gid, addr, 16);
    attr.gid[0].type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    if (pkey)
        attr.pkey[attr.pkey_cnt++] = pkey;
    end->rnic = rnic_new(&attr);
    end->judged = judge_init(&end->judge);
    if (!end->rnic || !end->judged || rnic_pd_new(end->rnic, &end->pd) != 0 ||
        rnic_cq_new(end->rnic, cqes, &end->cq) != 0)
        return "no memory for the RNIC";
    return NULL;
}

const char *end_connect(struct end *end, struct rnic_qp_init *init, struct rnic_qp_attr *attr,
                        enum rnic_qp_state last)
{
    int rc;

    init->send_cq = init->recv_cq = end->cq;
    rc = rnic_qp_new(end->pd, init, &end->qp);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= (int)last; state++) {
        attr->state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(end->qp, attr, END_TIME_BASE);
    }
    return rc == 0 ? NULL : rnic_error_text(rc);
}

void end_close(struct end *end)
{
    if (end->judged)
        judge_finish(&end->judge);
    rnic_del(end->rnic);
    end->rnic = NULL;
    end->judged = false;
}

uint64_t end_ignored(const struct end *end)
{
    struct rnic_counters c;

    rnic_counters_get(end->rnic, &c);
    return c.rx_not_roce + c.rx_malformed + c.rx_icrc_encapsulated + c.rx_no_qp + c.rx_bad_pkey;
}

rnic_time end_next(const struct end *end)
{
    return end->pending ? end->tx_free : rnic_deadline(end->rnic);
}

void end_expire(struct end *end, rnic_time now)
{
    if (rnic_deadline(end->rnic) > now)
        return;
    rnic_expire(end->rnic, now);
    end->pending = true;
}
