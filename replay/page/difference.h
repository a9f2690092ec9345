/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Difference: the part of a page that shows the differences of a replay or a drill: a table of
 * results, and for each result a section. A section has a table of differences and ladder diagrams
 * (ladder_svg.h). This part is HTML without scripts. Called between page_begin_results() and
 * page_end():
 *
 *   1. results_begin(), results_row()..., results_end()
 *   2. for each section: section_begin(), differences_begin(), differences_row()...,
 *      differences_end(), any HTML, section_end()
 *
 * All texts are escaped. The caller checks the stream for write errors at the end.
 */
#ifndef REPLAY_PAGE_DIFFERENCE_H
#define REPLAY_PAGE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct difference_row {
    const char *place; /* where the difference is: "frame 12", "line 7" */
    const char *field;
    const char *expected, *actual;
    const char *reason;
    /* Id of the violated rule, or NULL. The row also shows the text of the rule. */
    const char *rule;
};

/* Begins the table of results. `object_word`: title of the column of names, "Capture" or
 * "Drill". */
void results_begin(FILE *out, const char *object_word);

/* Adds a result to the table. `section` is the number of the page's section about the result, or 0
 * if there is none. */
void results_row(FILE *out, const char *verdict, bool good, const char *name, const char *about,
                 size_t section);
void results_end(FILE *out);

void section_begin(FILE *out, size_t section, const char *verdict, const char *name);
void section_end(FILE *out);

void section_heading(FILE *out, const char *text);

/* Adds a paragraph. Adds nothing if the text is empty. */
void section_text(FILE *out, const char *text);

/* Adds lines of source text or a command. Adds nothing if the text is empty. */
void section_code(FILE *out, const char *text);

void differences_begin(FILE *out, const char *expected_word, const char *actual_word);
void differences_row(FILE *out, const struct difference_row *row);
void differences_end(FILE *out);

#endif
