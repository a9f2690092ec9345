/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wireshark's Export Objects: lists each completely captured message as an object, so that its
 * payload can be saved. */
#ifndef PLUGIN_EXPORT_OBJECT_H
#define PLUGIN_EXPORT_OBJECT_H

#include "ws_compat.h"

/* Registers the export with Wireshark. Returns the id of its tap, to which a struct roce_tap must
 * be passed for each packet. */
int roce_export_object_register(int proto);

#endif
