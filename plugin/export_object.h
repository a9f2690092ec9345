/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Export Objects: saves the payload of each message that was captured completely. */
#ifndef PLUGIN_EXPORT_OBJECT_H
#define PLUGIN_EXPORT_OBJECT_H

#include "ws_compat.h"

/* Registers with Wireshark. Returns the tap, which needs a struct roce_tap for each packet. */
int roce_export_object_register(int proto);

#endif
