/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The RoCEv2 dissector: registration routines for plugin.c. */
#ifndef PACKET_ROCE_H
#define PACKET_ROCE_H

#include "ws_compat.h"

void proto_register_roce(void);
void proto_reg_handoff_roce(void);

#endif
