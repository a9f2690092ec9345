/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of the Info column in the packet list. */
#ifndef PLUGIN_INFO_COLUMN_H
#define PLUGIN_INFO_COLUMN_H

#include "ws_compat.h"
#include "line.h"
#include "analysis_store.h"

/* Writes the text of a packet to the empty line `text` and returns it. `frame` may be NULL. With
 * `relative`, PSNs are relative to the first PSN of the connection, if that is known. */
const char *roce_info_column_text(struct line *text, const struct roce_pkt *pkt,
                                  const struct roce_frame_info *frame, bool relative);

/* Appends the text of a CM message. */
void roce_info_column_cm(wmem_strbuf_t *text, const struct roce_cm_msg *msg);

/* Writes "TCP port 4420" for a service ID of the IP CM service, otherwise the number, to `buf` of
 * `cap` bytes, and returns it. */
const char *roce_service_text(uint64_t service_id, char *buf, size_t cap);

#endif
