/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Assets: the files that the build embeds for the page. assets.cmake generates assets.c. */
#ifndef REPLAY_PAGE_ASSETS_H
#define REPLAY_PAGE_ASSETS_H

#include <stddef.h>

struct asset {
    const unsigned char *bytes;
    size_t len;
};

/* Files of Debian's package libjs-dygraphs. */
extern const struct asset asset_dygraph_js, asset_dygraph_css;
/* The variables below are files of the folder browser/. */
extern const struct asset asset_page_html, asset_page_css;
extern const struct asset asset_data_js, asset_graph_js, asset_heat_js, asset_page_js;

#endif
