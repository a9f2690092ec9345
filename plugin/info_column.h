/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Info: one line about a packet that reads like a sentence, for the packet list. */
#ifndef PLUGIN_INFO_COLUMN_H
#define PLUGIN_INFO_COLUMN_H

#include "ws_compat.h"
#include "line.h"
#include "analysis_store.h"

/* Writes it to `text`, which starts empty, and returns it. `frame` may be NULL. With `relative` the
 * PSN is counted from the first of the connection, where that is known. */
const char *roce_info_column_text(struct line *text, const struct roce_pkt *pkt,
                                  const struct roce_frame_info *frame, bool relative);

/* Appends the same for a CM message. */
void roce_info_column_cm(wmem_strbuf_t *text, const struct roce_cm_msg *msg);

/* "TCP port 4420" of an RDMA-IP service id, else the number. Writes at most `cap` bytes. */
const char *roce_service_text(uint64_t service_id, char *buf, size_t cap);

#endif
