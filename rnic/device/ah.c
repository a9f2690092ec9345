/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/ah.h"

#include <stdlib.h>
#include <string.h>
#include "device/av.h"
#include "device/device.h"
#include "transport/fault.h"
#include "wire/gid.h"

int rnic_ah_new(struct rnic_pd *pd, const struct rnic_av *av, struct rnic_ah **out)
{
    struct rnic_ah *ah;

    if (!rnic_av_valid(pd->rnic, av))
        return RNIC_ERR_INVALID;
    ah = pd->rnic->ah_cnt < pd->rnic->limits.max_ah ? calloc(1, sizeof(*ah)) : NULL;
    if (!ah)
        return RNIC_ERR_NOMEM;
    ah->pd = pd;
    ah->av = *av;
    if (RNIC_FAULT(HANDLE_HOPS))
        ah->av.hop_limit = 64;
    rnic_av_resolve(&ah->av);
    ah->multicast = roce_gid_is_multicast(av->dgid);
    if (ah->multicast)
        rnic_gid_multicast_mac(av->dgid, ah->av.dmac);
    rnic_av_envelope(pd->rnic, &ah->av, &ah->env);
    rnic_list_add(&pd->rnic->ahs, &ah->link);
    pd->rnic->ah_cnt++;
    pd->users++;
    *out = ah;
    return RNIC_OK;
}

int rnic_ah_del(struct rnic_ah *ah)
{
    if (!ah)
        return RNIC_OK;
    rnic_list_del(&ah->link);
    ah->pd->rnic->ah_cnt--;
    ah->pd->users--;
    free(ah);
    return RNIC_OK;
}

int rnic_ah_query(const struct rnic_ah *ah, struct rnic_av *av)
{
    *av = ah->av;
    return RNIC_OK;
}

bool rnic_ah_dest(const struct rnic_ah *ah, uint32_t qpn, const struct rnic_send_wr *wr,
                  struct rnic_dest *out)
{
    if (!ah->multicast && wr->remote_qpn >= ROCE_QP_MULTICAST)
        return false;
    out->env = ah->env;
    out->qpn = ah->multicast ? ROCE_QP_MULTICAST : wr->remote_qpn;
    out->qkey = wr->remote_qkey;
    if (ah->av.udp_sport == 0)
        roce_header_template_set_sport(&out->env, rnic_av_sport(ah->av.flow, qpn, out->qpn));
    return true;
}
