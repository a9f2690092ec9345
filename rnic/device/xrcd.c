/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/xrcd.h"

#include <stdlib.h>
#include "device/device.h"

int rnic_xrcd_new(struct rnic *rnic, struct rnic_xrcd **out)
{
    struct rnic_xrcd *xrcd =
        rnic->xrcd_cnt < rnic->limits.max_xrcd ? calloc(1, sizeof(*xrcd)) : NULL;

    if (!xrcd)
        return RNIC_ERR_NOMEM;
    xrcd->rnic = rnic;
    rnic->xrcd_cnt++;
    rnic_list_add(&rnic->xrcds, &xrcd->link);
    *out = xrcd;
    return RNIC_OK;
}

int rnic_xrcd_del(struct rnic_xrcd *xrcd)
{
    if (!xrcd)
        return RNIC_OK;
    if (xrcd->users)
        return RNIC_ERR_BUSY;
    rnic_list_del(&xrcd->link);
    xrcd->rnic->xrcd_cnt--;
    free(xrcd);
    return RNIC_OK;
}
