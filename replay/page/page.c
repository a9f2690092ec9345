/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page.h"

#include <string.h>
#include "page/assets.h"
#include "util/xml_escape.h"

static void put_asset(FILE *out, const struct asset *asset)
{
    fwrite(asset->bytes, 1, asset->len, out);
}

/* Marks in page.html at which the page inserts text. */
#define LEAD    "<!-- lead -->"
#define RESULTS "<!-- results -->"

/* Writes the next part of page.html, up to the mark `to`, which is skipped. NULL: writes the
 * rest. */
static void put_html(struct page *page, const char *to)
{
    const char *begin = (const char *)asset_page_html.bytes + page->html_at;
    const char *end = to ? strstr(begin, to) : NULL; /* an asset ends with a zero byte */
    size_t len = end ? (size_t)(end - begin) : strlen(begin);

    fwrite(begin, 1, len, page->out);
    page->html_at += len + (end ? strlen(to) : 0);
}

static void begin_page(struct page *page, FILE *out, const char *title, const char *lead,
                       const char *lead_class)
{
    *page = (struct page){.out = out};
    /* The content security policy forbids every network request, in case the page contains an
     * unexpected reference. */
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    xml_escape_name(out, title);
    fprintf(out, " - RoCEdrill</title>\n<style>\n");
    put_asset(out, &asset_dygraph_css);
    put_asset(out, &asset_page_css);
    fprintf(out, "</style>\n</head>\n");
    put_html(page, LEAD);
    fprintf(out, "<h1 id=\"lead\" class=\"%s\">", lead_class);
    xml_escape(out, lead);
    fprintf(out,
            "</h1>\n<noscript><p>This page draws its report and graphs with JavaScript, which this "
            "browser does not run. rocedrill check CAPTURE prints the report as text.</p>"
            "</noscript>");
    put_html(page, RESULTS);
}

void page_begin(struct page *page, FILE *out, const char *title)
{
    begin_page(page, out, title, "Reading the data of this page …", "");
}

void page_begin_results(struct page *page, FILE *out, const char *title, const char *lead,
                        bool good)
{
    begin_page(page, out, title, lead, good ? "good" : "bad");
    page->has_results = true;
}

static void begin_data(struct page *page)
{
    put_html(page, NULL);
    fprintf(page->out,
            "<script type=\"application/json\" id=\"data\">\n{\"version\":1,%s\"captures\":[",
            page->has_results ? "\"has_results\":true," : "");
}

int page_add(struct page *page, const struct page_capture *capture,
             const struct check_report *report, int status, const struct page_selection *selection)
{
    if (page->captures++)
        fprintf(page->out, ",\n");
    else
        begin_data(page);
    return page_data_write(page->out, capture, report, status, selection);
}

void page_end(struct page *page)
{
    static const struct asset *const scripts[] = {&asset_dygraph_js, &asset_data_js,
                                                  &asset_graph_js, &asset_heat_js, &asset_page_js};

    if (!page->captures) {
        fprintf(page->out, "<style>.graphs{display:none}</style>\n");
        begin_data(page);
    }
    fprintf(page->out, "]}\n</script>\n");
    for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        fprintf(page->out, "<script>\n");
        put_asset(page->out, scripts[i]);
        fprintf(page->out, "\n</script>\n");
    }
    fprintf(page->out, "</body>\n</html>\n");
}
