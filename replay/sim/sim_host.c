/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_host.h"

#include <string.h>

const char *sim_host_open(struct sim_host *host, const uint8_t addr[16], enum roce_encap encap,
                          const uint8_t mac[6], uint16_t pkey, uint32_t cqes)
{
    struct rnic_attr attr = {.gid_cnt = 1};

    memcpy(attr.mac, mac, 6);
    memcpy(attr.gid[0].gid, addr, 16);
    attr.gid[0].type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    if (pkey)
        attr.pkey[attr.pkey_cnt++] = pkey;
    host->rnic = rnic_new(&attr);
    host->has_oracle = flow_oracle_init(&host->oracle);
    if (!host->rnic || !host->has_oracle || rnic_pd_new(host->rnic, &host->pd) != 0 ||
        rnic_cq_new(host->rnic, cqes, &host->cq) != 0)
        return "no memory for the RNIC";
    return NULL;
}

const char *sim_host_connect(struct sim_host *host, struct rnic_qp_init *init,
                             struct rnic_qp_attr *attr, enum rnic_qp_state last)
{
    int rc;

    init->send_cq = init->recv_cq = host->cq;
    rc = rnic_qp_new(host->pd, init, &host->qp);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= (int)last; state++) {
        attr->state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(host->qp, attr, SIM_TIME_BASE);
    }
    return rc == 0 ? NULL : rnic_error_text(rc);
}

void sim_host_close(struct sim_host *host)
{
    if (host->has_oracle)
        flow_oracle_finish(&host->oracle);
    rnic_del(host->rnic);
    host->rnic = NULL;
    host->has_oracle = false;
}

uint64_t sim_host_ignored(const struct sim_host *host)
{
    struct rnic_counters c;

    rnic_counters_get(host->rnic, &c);
    return c.rx_not_roce + c.rx_malformed + c.rx_icrc_encapsulated + c.rx_no_qp + c.rx_bad_pkey;
}

rnic_time sim_host_next(const struct sim_host *host)
{
    return host->pending ? host->tx_free : rnic_deadline(host->rnic);
}

void sim_host_expire(struct sim_host *host, rnic_time now)
{
    if (rnic_deadline(host->rnic) > now)
        return;
    rnic_expire(host->rnic, now);
    host->pending = true;
}
