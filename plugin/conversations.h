/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Talk: who talked to whom, and what was said. Conversations and endpoints by QP, the filter for
 * the connection of a packet, and "Follow RDMA stream".
 */
#ifndef PLUGIN_CONVERSATIONS_H
#define PLUGIN_CONVERSATIONS_H

#include "ws_compat.h"

void roce_conversations_register(int proto);

/*
 * Export Objects: the payload of each message that was captured in full. Returns the tap that wants
 * a struct roce_tap of every packet.
 */
int roce_export_object_register(int proto);

#endif
