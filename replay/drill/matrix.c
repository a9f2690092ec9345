/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/matrix.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "util/keymap.h"
#include "util/xml_escape.h"

/* Verdicts, the worst last. */
static const char *const verdicts[] = {"pass",  "unsupported", "inconclusive",
                                       "known", "fail",        "unusable"};
#define VERDICT_CNT (sizeof(verdicts) / sizeof(verdicts[0]))

struct matrix_cell {
    const char *verdict; /* verdict of the drill; NULL if the report lacks the drill */
    const char *capture; /* path of the capture, or NULL */
    const char *known;   /* ids of the known deviations of verdict "known", or NULL */
};

struct matrix_row {
    const char *name;
    struct matrix_cell cell[MATRIX_DEVICES_MAX];
};

struct matrix {
    json_t *report[MATRIX_DEVICES_MAX];
    unsigned cnt;
    struct matrix_row *row;
    size_t row_cnt, row_cap;
    bool html;
};

static unsigned verdict_rank(const char *verdict)
{
    for (unsigned i = 0; i < VERDICT_CNT; i++)
        if (strcmp(verdicts[i], verdict) == 0)
            return i;
    return VERDICT_CNT;
}

static struct matrix_row *find_row(struct matrix *m, const char *name)
{
    for (size_t i = 0; i < m->row_cnt; i++)
        if (strcmp(m->row[i].name, name) == 0)
            return &m->row[i];
    if (!VEC_GROW(m->row, m->row_cnt, m->row_cap))
        return NULL;
    m->row[m->row_cnt] = (struct matrix_row){.name = name};
    return &m->row[m->row_cnt++];
}

/* Adds the cases of one report. */
static int add_report(struct matrix *m, const char *path, unsigned device, struct error *error)
{
    const json_t *list = json_object_get(m->report[device], "drills");
    size_t cnt = json_array_size(list);

    if (!json_is_array(list))
        return error_set(error, "%s: not a report of rocedrill drill --json", path);
    for (size_t i = 0; i < cnt; i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *verdict = json_string_value(json_object_get(item, "verdict"));
        struct matrix_cell *cell;
        struct matrix_row *row;

        if (!name || !verdict || verdict_rank(verdict) == VERDICT_CNT)
            return error_set(
                error, "%s: drill %zu: the name is missing, or the verdict is missing or unknown",
                path, i + 1);
        row = find_row(m, name);
        if (!row)
            return error_set(error, "%s: no memory", path);
        cell = &row->cell[device];
        if (cell->verdict && verdict_rank(cell->verdict) >= verdict_rank(verdict))
            continue;
        cell->verdict = verdict;
        cell->capture = json_string_value(json_object_get(item, "capture"));
        cell->known = strcmp(verdict, "known") == 0
                          ? json_string_value(json_object_get(item, "known"))
                          : NULL;
    }
    return 0;
}

static const char *device_name(const struct matrix *m, unsigned device)
{
    const char *name = json_string_value(json_object_get(m->report[device], "device"));

    return name ? name : "?";
}

/* Writes text, with an escape before each character that Markdown would read as markup. */
static void put_markdown(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_[]<>", *text))
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void put_text(FILE *out, const struct matrix *m, const char *text)
{
    if (m->html)
        xml_escape_name(out, text);
    else
        put_markdown(out, text);
}

static void put_cell(FILE *out, const struct matrix *m, const struct matrix_cell *cell)
{
    const char *text = cell->verdict ? cell->verdict : "-";

    if (!m->html) {
        fputs(cell->capture ? " [" : " ", out);
        fputs(text, out);
        if (cell->known) {
            fputc(' ', out);
            put_text(out, m, cell->known);
        }
        if (cell->capture)
            fprintf(out, "](<%s>)", cell->capture);
        fputs(" |", out);
        return;
    }
    fprintf(out, "<td class=\"%s\">", cell->verdict ? text : "none");
    if (cell->capture) {
        fputs("<a href=\"", out);
        xml_escape_name(out, cell->capture);
        fputs("\">", out);
    }
    fputs(text, out);
    if (cell->known) {
        fputc(' ', out);
        put_text(out, m, cell->known);
    }
    fputs(cell->capture ? "</a></td>" : "</td>", out);
}

static void print_head(FILE *out, const struct matrix *m)
{
    if (m->html)
        fputs(
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Drills</title>\n"
            "<style>td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}"
            "table{border-collapse:collapse}.pass{background:#dfd}.fail,.unusable{background:#fcc}"
            ".known{background:#ffd}.inconclusive,.unsupported,.none{background:#eee}</style>\n"
            "</head><body><table>\n<tr><th>drill</th>",
            out);
    else
        fputs("| drill |", out);
    for (unsigned i = 0; i < m->cnt; i++) {
        fputs(m->html ? "<th>" : " ", out);
        put_text(out, m, device_name(m, i));
        fputs(m->html ? "</th>" : " |", out);
    }
    fputs(m->html ? "</tr>\n" : "\n|---|", out);
    for (unsigned i = 0; !m->html && i < m->cnt; i++)
        fputs("---|", out);
    if (!m->html)
        fputc('\n', out);
}

static void print_rows(FILE *out, const struct matrix *m)
{
    for (size_t i = 0; i < m->row_cnt; i++) {
        fputs(m->html ? "<tr><td>" : "| ", out);
        put_text(out, m, m->row[i].name);
        fputs(m->html ? "</td>" : " |", out);
        for (unsigned k = 0; k < m->cnt; k++)
            put_cell(out, m, &m->row[i].cell[k]);
        fputs(m->html ? "</tr>\n" : "\n", out);
    }
    if (m->html)
        fputs("</table></body></html>\n", out);
}

int matrix_print(FILE *out, char *const *paths, unsigned cnt, bool html, struct error *error)
{
    struct matrix m = {.cnt = cnt, .html = html};
    int rc = 0;

    if (cnt > MATRIX_DEVICES_MAX)
        return error_set(error, "more than %u reports", MATRIX_DEVICES_MAX);
    for (unsigned i = 0; rc == 0 && i < cnt; i++) {
        json_error_t problem;

        m.report[i] = json_load_file(paths[i], 0, &problem);
        rc = m.report[i] ? add_report(&m, paths[i], i, error)
                         : error_set(error, "%s: %s", paths[i], problem.text);
    }
    if (rc == 0) {
        print_head(out, &m);
        print_rows(out, &m);
    }
    for (unsigned i = 0; i < cnt; i++)
        json_decref(m.report[i]);
    free(m.row);
    return rc;
}
