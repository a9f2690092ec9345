/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/limits.h"

#include "device/device.h"

/*
 * Limits of a device, one row each: member, limit. The limits on numbers of objects are higher than
 * any program needs. They are also far below the numbers of possible QPNs and keys, so that a few
 * random numbers are enough to find an unused QPN or key. The limits on sizes are those of the
 * transport (work.h, send.h).
 */
#define LIMITS(X)                                                                                  \
    X(max_mr_size, UINT64_MAX)                                                                     \
    X(max_pd, UINT32_C(1) << 20)                                                                   \
    X(max_mr, UINT32_C(1) << 24)                                                                   \
    X(max_mw, UINT32_C(1) << 20)                                                                   \
    X(max_cq, UINT32_C(1) << 20)                                                                   \
    X(max_cqe, UINT32_C(1) << 22)                                                                  \
    X(max_qp, UINT32_C(1) << 20)                                                                   \
    X(max_qp_wr, RNIC_WR_MAX)                                                                      \
    X(max_sge, RNIC_SGE_MAX)                                                                       \
    X(max_sge_rd, RNIC_SGE_MAX)                                                                    \
    X(max_inline, RNIC_INLINE_MAX)                                                                 \
    X(max_qp_rd_atom, RNIC_RD_ATOMIC_MAX)                                                          \
    X(max_qp_init_rd_atom, RNIC_RD_ATOMIC_MAX)                                                     \
    X(max_ah, UINT32_C(1) << 20)                                                                   \
    X(max_srq, UINT32_C(1) << 20)                                                                  \
    X(max_srq_wr, RNIC_WR_MAX)                                                                     \
    X(max_srq_sge, RNIC_SGE_MAX)                                                                   \
    X(max_xrcd, UINT32_C(1) << 16)                                                                 \
    X(max_mcast_grp, RNIC_MCAST_GROUPS)                                                            \
    X(max_mcast_qp_attach, RNIC_MCAST_QPS)

struct rnic_limits rnic_limits_of(const struct rnic_attr *attr)
{
    const struct rnic_limits *wanted = &attr->limits;
    struct rnic_limits limits = {
#define X(member, limit) .member = (limit),
        LIMITS(X)
#undef X
            .max_pkeys = attr->pkey_cnt,
    };

#define X(member, limit)                                                                           \
    if (wanted->member && wanted->member < limits.member)                                          \
        limits.member = wanted->member;
    LIMITS(X)
#undef X
    return limits;
}

bool rnic_pkey_cnt_valid(const struct rnic_attr *attr)
{
    uint32_t max = attr->limits.max_pkeys;

    return attr->pkey_cnt <= RNIC_PKEY_MAX && (max == 0 || attr->pkey_cnt <= max);
}

void rnic_limits_get(const struct rnic *rnic, struct rnic_limits *out)
{
    *out = rnic->limits;
}
