/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* GID table of the port, declared in rnic.h. */
#include <string.h>
#include "device/device.h"

static bool gid_is_empty(const struct rnic_gid *gid)
{
    static const uint8_t none[16];

    return memcmp(gid->gid, none, sizeof(none)) == 0;
}

int rnic_gid_set(struct rnic *rnic, unsigned idx, const struct rnic_gid *gid)
{
    static const struct rnic_gid none = {.type = RNIC_GID_ROCE_V2};

    if (idx >= RNIC_GID_MAX ||
        (gid && gid->type != RNIC_GID_ROCE_V1 && gid->type != RNIC_GID_ROCE_V2))
        return RNIC_ERR_INVALID;
    rnic->attr.gid[idx] = gid ? *gid : none;
    if (rnic->attr.gid_cnt <= idx)
        rnic->attr.gid_cnt = idx + 1;
    return RNIC_OK;
}

bool rnic_gid_get(const struct rnic *rnic, unsigned idx, struct rnic_gid *out)
{
    if (idx >= rnic->attr.gid_cnt || gid_is_empty(&rnic->attr.gid[idx]))
        return false;
    *out = rnic->attr.gid[idx];
    return true;
}
