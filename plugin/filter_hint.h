/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter, column or colour that names fields of the built-in dissector (infiniband.*) matches no
 * packet, because the plugin dissects RoCE packets. This module warns once for each such field and
 * names the plugin's corresponding field. In tshark the warning is on standard error, in Wireshark
 * a dialog.
 */
#ifndef PLUGIN_FILTER_HINT_H
#define PLUGIN_FILTER_HINT_H

#include "ws_compat.h"

/* Warns of fields of the built-in dissector that a filter, column or colour names. Must be called
 * for each packet that the plugin dissects. */
void roce_filter_hint(const packet_info *pinfo);

#endif
