/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/pd.h"

#include <stdlib.h>
#include "device/device.h"

int rnic_pd_new(struct rnic *rnic, struct rnic_pd **out)
{
    struct rnic_pd *pd = rnic->pd_cnt < rnic->limits.max_pd ? calloc(1, sizeof(*pd)) : NULL;

    if (!pd)
        return RNIC_ERR_NOMEM;
    pd->rnic = rnic;
    rnic_list_add(&rnic->pds, &pd->link);
    rnic->pd_cnt++;
    *out = pd;
    return RNIC_OK;
}

int rnic_pd_del(struct rnic_pd *pd)
{
    if (!pd)
        return RNIC_OK;
    if (pd->users)
        return RNIC_ERR_BUSY;
    rnic_list_del(&pd->link);
    pd->rnic->pd_cnt--;
    free(pd);
    return RNIC_OK;
}
