/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP attributes: the allowed state transitions, and the attributes that each transition accepts
 * (R183-R187). */
#ifndef RNIC_QP_ATTR_H
#define RNIC_QP_ATTR_H

#include "device/rnic.h"

/* Attributes that a transition requires and allows, as bits of enum rnic_qp_mask without
 * RNIC_QP_STATE. */
struct rnic_qp_takes {
    unsigned required;
    unsigned optional;
};

/* Returns true if a QP of this type may change from state `from` to state `to` (R183). Sets *takes
 * to the attributes of the transition. */
bool rnic_qp_transition(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
                        struct rnic_qp_takes *takes);

#endif
