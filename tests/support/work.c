/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "work.h"

enum rnic_wc_opcode work_completes_as(enum rnic_wr_opcode opcode)
{
    switch (opcode) {
    case RNIC_WR_WRITE:
    case RNIC_WR_WRITE_IMM: return RNIC_WC_RDMA_WRITE;
    case RNIC_WR_READ: return RNIC_WC_RDMA_READ;
    case RNIC_WR_CMP_SWAP: return RNIC_WC_COMP_SWAP;
    case RNIC_WR_FETCH_ADD: return RNIC_WC_FETCH_ADD;
    case RNIC_WR_LOCAL_INV: return RNIC_WC_LOCAL_INV;
    case RNIC_WR_BIND_MW: return RNIC_WC_BIND_MW;
    case RNIC_WR_FLUSH: return RNIC_WC_FLUSH;
    case RNIC_WR_ATOMIC_WRITE: return RNIC_WC_ATOMIC_WRITE;
    default: return RNIC_WC_SEND;
    }
}
