/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Flow steering: chooses the raw packet QPs that receive a frame. rnic_qp.h declares the
 * functions. */
#ifndef RNIC_STEER_H
#define RNIC_STEER_H

#include "device/list.h"
#include "device/rnic.h"

struct rnic_steer {
    struct rnic_list link; /* link in rnic.steers */
    struct rnic_qp *qp;
    struct rnic_steer_attr attr;
};

#endif
