/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of the Info column in the packet list. */
#ifndef PLUGIN_INFO_COLUMN_H
#define PLUGIN_INFO_COLUMN_H

#include "ws_compat.h"
#include "analysis_store.h"
#include "line.h"

/* Writes the text of the Info column for a packet to the empty line `text` and returns the text.
 * `frame` is NULL if there is no analysis. `relative`: show PSNs relative to the first PSN of the
 * connection, if the first PSN is known. */
const char *roce_info_column_text(struct line *text, const struct roce_pkt *pkt,
                                  const struct roce_frame_info *frame, bool relative);

/* Appends the text of a CM message. */
void roce_info_column_cm(wmem_strbuf_t *text, const struct roce_cm_msg *msg);

/* Writes the text of a service ID to `buf` (`cap` bytes) and returns `buf`. The text is for example
 * "TCP port 4420" for the IP CM service, and otherwise the number. */
const char *roce_service_text(uint64_t service_id, char *buf, size_t cap);

#endif
