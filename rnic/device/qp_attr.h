/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP attributes: which states follow which, and which attributes a transition takes (R183-R187). */
#ifndef RNIC_QP_ATTR_H
#define RNIC_QP_ATTR_H

#include "device/rnic.h"

/* enum rnic_qp_mask, without RNIC_QP_STATE. */
struct rnic_qp_takes {
    unsigned required;
    unsigned optional;
};

/* Whether a QP may go from one state to another (R183), and what a QP of this type takes then. */
bool rnic_qp_transition(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
                        struct rnic_qp_takes *takes);

#endif
