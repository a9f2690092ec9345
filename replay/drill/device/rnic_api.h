/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RNIC API: pointers to the functions of rnic/device/rnic.h that a drill calls. They are the
 * functions of the software RNIC in this program, or of a shared library with the same C interface.
 *
 * Compile the library with the headers of this version of RoCEdrill, because the library and this
 * program share the structs. cmd_drill.c loads the library; device_rnic.c calls the functions.
 */
#ifndef REPLAY_DRILL_DEVICE_RNIC_API_H
#define REPLAY_DRILL_DEVICE_RNIC_API_H

#include "base/error.h"
#include "device/rnic.h"

/* clang-format off */
#define RNIC_API(X)                                                                                \
    X(rnic_new) X(rnic_del) X(rnic_input) X(rnic_output) X(rnic_deadline) X(rnic_expire)           \
    X(rnic_event_get) X(rnic_counters_get)                                                         \
    X(rnic_pd_new) X(rnic_pd_del) X(rnic_xrcd_new) X(rnic_xrcd_del)                                \
    X(rnic_cq_new) X(rnic_cq_del) X(rnic_cq_poll) X(rnic_cq_arm) X(rnic_cq_resize)                 \
    X(rnic_cq_notified)                                                                            \
    X(rnic_srq_new) X(rnic_srq_del) X(rnic_srq_num) X(rnic_srq_modify) X(rnic_post_srq_recv)       \
    X(rnic_mr_reg) X(rnic_mr_dereg) X(rnic_mr_key) X(rnic_mw_new) X(rnic_mw_del) X(rnic_mw_rkey)   \
    X(rnic_ah_new) X(rnic_ah_del)                                                                  \
    X(rnic_qp_new) X(rnic_qp_del) X(rnic_qp_qpn) X(rnic_qp_view) X(rnic_qp_modify)                 \
    X(rnic_qp_modify_mask) X(rnic_post_recv) X(rnic_post_send)                                     \
    X(rnic_mcast_attach) X(rnic_mcast_detach)
/* clang-format on */

struct rnic_api {
#define X(name) __typeof__(&name) name;
    RNIC_API(X)
#undef X
};

/* The functions of the software RNIC of this program. */
extern const struct rnic_api rnic_api_own;

/* Loads a shared library. The library stays loaded until the program ends. Returns 0, or -1 and an
 * error, which names the missing function if the library lacks one. */
int rnic_api_load(struct rnic_api *api, const char *path, struct error *error);

#endif
