/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conversation and endpoint tables by QP, the conversation filter for the connection of a packet,
 * and "Follow RDMA stream".
 */
#ifndef PLUGIN_CONVERSATIONS_H
#define PLUGIN_CONVERSATIONS_H

#include "ws_compat.h"

void roce_conversations_register(int proto);

#endif
