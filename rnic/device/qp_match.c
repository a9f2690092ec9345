/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks whether a packet belongs to a QP: its addresses (R051) and its P_Key (R049, R050). */
#include <string.h>
#include "device/device.h"
#include "transport/fault.h"

#define PKEY_BASE 0x7FFFu /* bits of a P_Key that identify the partition */
#define PKEY_FULL 0x8000u /* P_Key bit of a full member */

static bool pkey_fits(uint16_t mine, uint16_t theirs)
{
    if (RNIC_FAULT(PKEY_ANY))
        return true;
    return ((mine ^ theirs) & PKEY_BASE) == 0 && (theirs & PKEY_BASE) != 0 &&
           ((mine | theirs) & PKEY_FULL) != 0;
}

bool rnic_pkey_valid(uint16_t pkey)
{
    return (pkey & PKEY_BASE) != 0;
}

unsigned rnic_pkey_index(const struct rnic *rnic, uint16_t pkey)
{
    unsigned i = 0;

    while (i < rnic->attr.pkey_cnt && !pkey_fits(rnic->attr.pkey[i], pkey))
        i++;
    return i;
}

bool rnic_qp_pkey_fits(const struct rnic_qp *qp, uint16_t pkey)
{
    const struct rnic *rnic = qp->pd->rnic;

    if (qp->type == RNIC_QPT_GSI)
        return rnic_pkey_index(rnic, pkey) < rnic->attr.pkey_cnt;
    return pkey_fits(qp->pkey, pkey);
}

bool rnic_qp_addr_fits(const struct rnic_qp *qp, enum roce_encap encap, const uint8_t src[16],
                       const uint8_t dst[16])
{
    if (RNIC_FAULT(ADDRESS_ANY))
        return true;
    return encap == qp->encap && memcmp(src, qp->av.dgid, 16) == 0 &&
           memcmp(dst, qp->sgid, 16) == 0;
}
