/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/difference.h"

#include "flow/base/rules.h"
#include "util/xml_escape.h"

static void put_element(FILE *out, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(out, "<%s>", name);
    xml_escape(out, text);
    fprintf(out, "</%s>\n", name);
}

static void put_cell(FILE *out, const char *class, const char *text)
{
    fprintf(out, "<td class=\"%s\">", class);
    xml_escape(out, text ? text : "");
    fprintf(out, "</td>");
}

/* ---- the table of results ----------------------------------------------------------------------
 */

void results_begin(FILE *out, const char *object_word)
{
    fprintf(out,
            "<section aria-labelledby=\"results-title\">\n<h2 id=\"results-title\">Results</h2>\n"
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of results\">"
            "<table id=\"results\"><thead><tr><th scope=\"col\">Verdict</th><th scope=\"col\">%s"
            "</th><th scope=\"col\">About</th></tr></thead><tbody>\n",
            object_word);
}

void results_row(FILE *out, const char *verdict, bool good, const char *name, const char *about,
                 size_t section)
{
    fprintf(out, "<tr><td><span class=\"badge %s\">%s</span></td><td>", good ? "good" : "bad",
            verdict);
    if (section)
        fprintf(out, "<a href=\"#result-%zu\">", section);
    xml_escape(out, name);
    fprintf(out, "%s</td>", section ? "</a>" : "");
    put_cell(out, "wide", about);
    fprintf(out, "</tr>\n");
}

void results_end(FILE *out)
{
    fprintf(out, "</tbody></table></div>\n</section>\n");
}

/* ---- sections of differences -------------------------------------------------------------------
 */

void section_begin(FILE *out, size_t section, const char *verdict, const char *name)
{
    fprintf(out, "<section class=\"result\" id=\"result-%zu\" tabindex=\"-1\">\n<h2>%s: ", section,
            verdict);
    xml_escape(out, name);
    fprintf(out, "</h2>\n");
}

void section_end(FILE *out)
{
    fprintf(out, "</section>\n");
}

void section_heading(FILE *out, const char *text)
{
    put_element(out, "h3", text);
}

void section_text(FILE *out, const char *text)
{
    put_element(out, "p", text);
}

void section_code(FILE *out, const char *text)
{
    put_element(out, "pre", text);
}

void differences_begin(FILE *out, const char *expected_word, const char *actual_word)
{
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Differences\">"
            "<table class=\"differences\"><thead><tr><th scope=\"col\">Where</th><th scope=\"col\">"
            "Field</th><th scope=\"col\">%s</th><th scope=\"col\">%s</th><th scope=\"col\">Why"
            "</th><th scope=\"col\">Rule</th></tr></thead><tbody>\n",
            expected_word, actual_word);
}

void differences_row(FILE *out, const struct difference_row *row)
{
    enum roce_rule rule = row->rule ? roce_rule_find(row->rule) : ROCE_RULE_CNT;

    fprintf(out, "<tr>");
    put_cell(out, "place", row->place);
    put_cell(out, "field", row->field);
    put_cell(out, "expected", row->expected);
    put_cell(out, "actual", row->actual);
    put_cell(out, "wide", row->reason);
    fprintf(out, "<td class=\"wide\"><b>");
    xml_escape(out, row->rule ? row->rule : "");
    fprintf(out, "</b> ");
    xml_escape(out, rule < ROCE_RULE_CNT ? roce_rule_info(rule)->text : "");
    fprintf(out, "</td></tr>\n");
}

void differences_end(FILE *out)
{
    fprintf(out, "</tbody></table></div>\n");
}
