/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/ladder_svg.h"

#include <stdlib.h>
#include <string.h>
#include "util/keymap.h"
#include "util/xml_escape.h"

/* Sizes in pixels. */
#define WIDTH  1200.0
#define NUMBER 50.0   /* right end of the column of numbers */
#define TIME   130.0  /* right end of the column of times */
#define LEFT   150.0  /* x of the vertical line of the left end */
#define RIGHT  1160.0 /* x of the vertical line of the right end */
#define HEAD   40.0   /* height of the titles */
#define ROW    30.0   /* height of the row of a packet */
#define DETAIL 22.0   /* height of the row of a difference or of a text */

enum line_kind { LINE_TO_RIGHT, LINE_TO_LEFT, LINE_TEXT, LINE_DIFFERENCE };

struct ladder_line {
    enum line_kind kind;
    enum ladder_mark mark;
    unsigned number;
    double time;
    char *text; /* text of the packet or event, or name of the field that differs */
    char *expected, *actual;
};

static const char *const mark_class[] = {"", "equal", "differs", "known", "noted"};
static const char *const mark_sign[] = {"", "✓", "✗", "≈", "·"};

static void free_line(const struct ladder_line *line)
{
    free(line->text);
    free(line->expected);
    free(line->actual);
}

/* Adds `line` as a row, with copies of the three texts. `expected` and `actual` may be NULL. */
static void add_line(struct ladder_drawing *drawing, struct ladder_line line, const char *text,
                     const char *expected, const char *actual)
{
    line.text = strdup(text);
    line.expected = expected ? strdup(expected) : NULL;
    line.actual = actual ? strdup(actual) : NULL;
    if (line.text && VEC_GROW(drawing->line, drawing->cnt, drawing->cap))
        drawing->line[drawing->cnt++] = line;
    else
        free_line(&line);
}

void ladder_svg_arrow(struct ladder_drawing *drawing, bool to_right, unsigned number, double time,
                      const char *text, enum ladder_mark mark)
{
    const struct ladder_line line = {.kind = to_right ? LINE_TO_RIGHT : LINE_TO_LEFT,
                                     .mark = mark,
                                     .number = number,
                                     .time = time};

    add_line(drawing, line, text, NULL, NULL);
}

void ladder_svg_text(struct ladder_drawing *drawing, unsigned number, double time, const char *text)
{
    const struct ladder_line line = {.kind = LINE_TEXT, .number = number, .time = time};

    add_line(drawing, line, text, NULL, NULL);
}

void ladder_svg_difference(struct ladder_drawing *drawing, const char *field, const char *expected,
                           const char *actual)
{
    const struct ladder_line line = {.kind = LINE_DIFFERENCE};

    add_line(drawing, line, field, expected, actual);
}

void ladder_svg_free(struct ladder_drawing *drawing)
{
    for (size_t i = 0; i < drawing->cnt; i++)
        free_line(&drawing->line[i]);
    free(drawing->line);
    drawing->line = NULL;
    drawing->cnt = drawing->cap = 0;
}

/* ---- writing the ladder ------------------------------------------------------------------------
 */

static double line_height(const struct ladder_line *line)
{
    return line->kind <= LINE_TO_LEFT ? ROW : DETAIL;
}

static void write_word(FILE *out, double x, double y, const char *anchor, const char *word)
{
    fprintf(out, "<text class=\"soft\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">", x, y, anchor);
    xml_escape(out, word);
    fprintf(out, "</text>\n");
}

static void write_titles(FILE *out, const struct ladder_drawing *d, double height)
{
    fprintf(out, "<path class=\"end\" d=\"M%.0f %.0fV%.0fM%.0f %.0fV%.0f\"/>\n", LEFT, HEAD - 12,
            height, RIGHT, HEAD - 12, height);
    write_word(out, NUMBER, HEAD - 18, "end", d->number_word);
    write_word(out, TIME, HEAD - 18, "end", d->time_word);
    write_word(out, LEFT, HEAD - 18, "start", d->end[0]);
    write_word(out, RIGHT, HEAD - 18, "end", d->end[1]);
}

static void write_place(FILE *out, const struct ladder_line *line, double y)
{
    char buf[32];

    snprintf(buf, sizeof(buf), "%u", line->number);
    if (line->number)
        write_word(out, NUMBER, y, "end", buf);
    snprintf(buf, sizeof(buf), "%.6f", line->time);
    write_word(out, TIME, y, "end", buf);
}

static void write_arrow(FILE *out, const struct ladder_line *line, double y)
{
    bool right = line->kind == LINE_TO_RIGHT;

    write_place(out, line, y + 20);
    fprintf(out, "<g class=\"%s\"><path class=\"arrow\" d=\"M%.0f %.0fH%.0fm%d-4l%d 4l%d 4\"/>",
            mark_class[line->mark], right ? LEFT : RIGHT, y + 22, right ? RIGHT : LEFT,
            right ? -8 : 8, right ? 8 : -8, right ? -8 : 8);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">", right ? LEFT + 14 : RIGHT - 14,
            y + 17, right ? "start" : "end");
    xml_escape(out, line->text);
    fprintf(out, "</text><text class=\"sign\" x=\"%.0f\" y=\"%.0f\">%s</text></g>\n", RIGHT + 12,
            y + 26, mark_sign[line->mark]);
}

static void write_difference(FILE *out, const struct ladder_drawing *d,
                             const struct ladder_line *line, double y)
{
    fprintf(out, "<text class=\"detail\" x=\"%.0f\" y=\"%.0f\"><tspan class=\"field\">", LEFT + 28,
            y + 15);
    xml_escape(out, line->text);
    fprintf(out, "</tspan>: %s <tspan class=\"expected\">", d->expected_word);
    xml_escape(out, line->expected ? line->expected : "");
    fprintf(out, "</tspan>, %s <tspan class=\"actual\">", d->actual_word);
    xml_escape(out, line->actual ? line->actual : "");
    fprintf(out, "</tspan></text>\n");
}

/* If packet `i` differs, writes a coloured background for its row and the rows of its
 * differences. */
static void write_background(FILE *out, const struct ladder_drawing *d, size_t i, double y)
{
    double height = line_height(&d->line[i]);

    if (d->line[i].mark != LADDER_DIFFERS)
        return;
    for (size_t k = i + 1; k < d->cnt && d->line[k].kind == LINE_DIFFERENCE; k++)
        height += line_height(&d->line[k]);
    fprintf(out, "<rect class=\"spot\" x=\"0\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n", y,
            WIDTH, height + 4);
}

void ladder_svg_write(FILE *out, const struct ladder_drawing *d)
{
    double y = HEAD + (d->more_before ? DETAIL : 0), height = y + (d->more_after ? DETAIL : 8);
    size_t packets = 0;

    for (size_t i = 0; i < d->cnt; i++) {
        height += line_height(&d->line[i]);
        packets += d->line[i].kind <= LINE_TO_LEFT;
    }
    fprintf(out,
            "<svg class=\"ladder\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "role=\"img\" aria-label=\"%zu packets between the two ends\">\n",
            WIDTH, height, packets);
    for (size_t i = 0; i < d->cnt; i++) {
        write_background(out, d, i, y);
        y += line_height(&d->line[i]);
    }
    write_titles(out, d, height);
    y = HEAD;
    if (d->more_before) {
        write_word(out, LEFT + 14, y + 14, "start", "⋮");
        y += DETAIL;
    }
    for (size_t i = 0; i < d->cnt; i++) {
        const struct ladder_line *line = &d->line[i];

        if (line->kind == LINE_DIFFERENCE) {
            write_difference(out, d, line, y);
        } else if (line->kind == LINE_TEXT) {
            write_place(out, line, y + 15);
            write_word(out, LEFT + 14, y + 15, "start", line->text);
        } else {
            write_arrow(out, line, y);
        }
        y += line_height(line);
    }
    if (d->more_after)
        write_word(out, LEFT + 14, y + 16, "start", "⋮");
    fprintf(out, "</svg>\n");
}
