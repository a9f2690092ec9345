/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter, column or colour that names fields of the built-in dissector (infiniband.*) matches no
 * packet that the plugin dissects. This module warns of it once for each field and names the
 * plugin's field: tshark on standard error, Wireshark in a dialog.
 */
#ifndef PLUGIN_FILTER_HINT_H
#define PLUGIN_FILTER_HINT_H

#include "ws_compat.h"

/* Called for each packet that the plugin dissects. */
void roce_filter_hint(const packet_info *pinfo);

#endif
