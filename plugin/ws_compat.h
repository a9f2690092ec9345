/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the Wireshark versions 4.0 to 4.6, and the includes of Wireshark's headers.
 * All other files use the API of 4.0.
 */
#ifndef ROCE_WS_COMPAT_H
#define ROCE_WS_COMPAT_H

#define WS_BUILD_DLL
#include <wireshark.h>
#include <ws_version.h>

#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto.h>

#define ROCE_WS_AT_LEAST(major, minor)                                                             \
    (WIRESHARK_VERSION_MAJOR > (major) ||                                                          \
     (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

/* Boolean type of preferences and callbacks: gboolean up to 4.2, bool from 4.4 on. */
#if ROCE_WS_AT_LEAST(4, 4)
typedef bool roce_ws_bool;
#else
typedef gboolean roce_ws_bool;
#endif

/* Last parameter of the callbacks of conversation filters. Wireshark 4.0 does not have this
 * parameter. */
#if ROCE_WS_AT_LEAST(4, 2)
#define ROCE_WS_USER_DATA , void *user_data _U_
#else
#define ROCE_WS_USER_DATA
#endif

/* dfilter.h of Wireshark 4.2 includes a header that is not in the packages of Wireshark.
 * epan/plugin_if.h includes dfilter.h, but needs only this type. */
#if ROCE_WS_AT_LEAST(4, 2) && !ROCE_WS_AT_LEAST(4, 4)
#define DFILTER_H
typedef struct epan_dfilter dfilter_t;
#endif

#if !ROCE_WS_AT_LEAST(4, 4)
#define tvb_get_uint8 tvb_get_guint8
#endif
#if !ROCE_WS_AT_LEAST(4, 6)
#define dissector_try_uint_with_data dissector_try_uint_new
#endif

/*
 * From 4.6 on, an upper-layer dissector can reject the payload unless `info` (struct
 * infinibandinfo) states that the caller reassembles SENDs. The dissector of SMB Direct rejects it
 * by default.
 */
#if ROCE_WS_AT_LEAST(4, 6)
#define ROCE_WS_SENDS_ARE_WHOLE(info) ((info)->do_rc_send_reassembling = true)
#else
#define ROCE_WS_SENDS_ARE_WHOLE(info) ((void)(info))
#endif

/* Adds a duration, displayed as "N.N seconds". Up to 4.4, Wireshark uses this format itself; from
 * 4.6 on, this function formats the duration. */
static inline proto_item *roce_ws_add_time(proto_tree *tree, int field, tvbuff_t *tvb, int offset,
                                           int len, uint64_t ns)
{
    nstime_t t = {.secs = (time_t)(ns / 1000000000u), .nsecs = (int)(ns % 1000000000u)};

#if ROCE_WS_AT_LEAST(4, 6)
    return proto_tree_add_time_format_value(tree, field, tvb, offset, len, &t,
                                            "%" PRIu64 ".%09d seconds", ns / 1000000000u, t.nsecs);
#else
    return proto_tree_add_time(tree, field, tvb, offset, len, &t);
#endif
}

#endif
