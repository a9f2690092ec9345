/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page.h"

#include "page/assets.h"
#include "util/xml_escape.h"

static void put_asset(FILE *out, const struct asset *asset)
{
    fwrite(asset->bytes, 1, asset->len, out);
}

void page_begin(struct page *page, FILE *out, const char *title)
{
    *page = (struct page){.out = out};
    /* The policy forbids every request, in case a browser finds something to load. */
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    xml_escape_name(out, title);
    fprintf(out, " - RoCEdrill</title>\n<style>\n");
    put_asset(out, &asset_dygraph_css);
    put_asset(out, &asset_page_css);
    fprintf(out, "</style>\n</head>\n");
    put_asset(out, &asset_page_html);
    fprintf(out, "<script type=\"application/json\" id=\"data\">\n{\"version\":1,\"captures\":[");
}

int page_add(struct page *page, const struct page_capture *capture,
             const struct check_report *report, int status, const struct page_selection *selection)
{
    if (page->captures++)
        fprintf(page->out, ",\n");
    return page_data_write(page->out, capture, report, status, selection);
}

void page_end(struct page *page)
{
    static const struct asset *const scripts[] = {&asset_dygraph_js, &asset_data_js,
                                                  &asset_words_js, &asset_graph_js, &asset_page_js};

    fprintf(page->out, "]}\n</script>\n");
    for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        fprintf(page->out, "<script>\n");
        put_asset(page->out, scripts[i]);
        fprintf(page->out, "\n</script>\n");
    }
    fprintf(page->out, "</body>\n</html>\n");
}
