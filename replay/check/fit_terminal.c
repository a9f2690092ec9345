/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/fit_terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "check/check_text.h"
#include "util/strbuf.h"

#define ROWS    24u
#define COLUMNS 80u

/* From here on characters may be two columns wide. Some are not: rather a row too few than lost. */
#define WIDE_FROM 0x2E80u

bool screen_of(FILE *out, struct screen *screen)
{
    struct winsize size = {0};
    int fd = fileno(out);

    if (fd < 0 || !isatty(fd))
        return false;
    ioctl(fd, TIOCGWINSZ, &size); /* that fails: the usual size */
    screen->rows = size.ws_row ? size.ws_row : ROWS;
    screen->columns = size.ws_col ? size.ws_col : COLUMNS;
    return true;
}

unsigned screen_rows(const char *text, unsigned columns)
{
    unsigned rows = 0, column = 0;
    bool begun = false; /* a row */

    while (*text) {
        uint32_t code = 0;
        unsigned len = utf8_decode(text, &code), width = len && code >= WIDE_FROM ? 2 : 1;

        text += len ? len : 1;
        if (code == '\n') {
            rows += !begun; /* an empty line */
            begun = false;
            continue;
        }
        if (!begun || column + width > columns) {
            begun = true;
            rows++;
            column = 0;
        }
        column += width;
    }
    return rows;
}

/* ---- the largest report that fits --------------------------------------------------------------
 */

/* What is granted, the most important first. What does not fit is left out; what comes after it
 * may fit nevertheless. */
static const struct {
    enum check_limit limit;
    uint32_t max;
} grants[] = {
    {CHECK_LIMIT_EVENTS, HISTORY_EVENTS},
    {CHECK_LIMIT_ERRORS, 1}, /* what the verdict is about */
    {CHECK_LIMIT_SECTIONS, UINT32_MAX},
    {CHECK_LIMIT_STORIES, 2},
    {CHECK_LIMIT_CONNS, 4},
    {CHECK_LIMIT_DETAILS, UINT32_MAX},
    {CHECK_LIMIT_ERRORS, 12},
    {CHECK_LIMIT_WARNS, 12},
    {CHECK_LIMIT_NOTES, 12},
    /* A large screen. */
    {CHECK_LIMIT_STORIES, UINT32_MAX},
    {CHECK_LIMIT_CONNS, UINT32_MAX},
    {CHECK_LIMIT_DETAILS, UINT32_MAX},
    {CHECK_LIMIT_ERRORS, UINT32_MAX},
    {CHECK_LIMIT_WARNS, UINT32_MAX},
    {CHECK_LIMIT_NOTES, UINT32_MAX},
};

struct fit {
    const struct check_report *report;
    unsigned rows, columns;
    struct check_limits limits; /* so far */
};

/* Whether the report fits with this limit, the others as they are; then it is set. */
static bool fits_with(struct fit *fit, enum check_limit limit, uint32_t max)
{
    const uint32_t before = fit->limits.max[limit];
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    bool fits;

    if (!out)
        return false;
    fit->limits.max[limit] = max;
    check_text_within(out, fit->report, &fit->limits);
    fits = fclose(out) == 0 && screen_rows(text, fit->columns) <= fit->rows;
    free(text);
    if (!fits)
        fit->limits.max[limit] = before;
    return fits;
}

/* The largest limit up to `max` that fits. */
static void grant(struct fit *fit, enum check_limit limit, uint32_t max)
{
    uint32_t fits = fit->limits.max[limit], too_many;

    if (max > fit->rows) /* each takes a row */
        max = fit->rows;
    if (fits >= max || fits_with(fit, limit, max))
        return;
    for (too_many = max; too_many - fits > 1;) {
        uint32_t mid = fits + (too_many - fits) / 2;

        if (fits_with(fit, limit, mid))
            fits = mid;
        else
            too_many = mid;
    }
}

void screen_print(FILE *out, const struct check_report *report, const struct screen *screen,
                  unsigned taken)
{
    const bool stopped = report->failed || report->rejection_cnt || report->stuck ||
                         unanswered_cm_cnt(&report->unanswered_cm) > 0;
    struct fit fit = {
        .report = report,
        .rows = screen->rows > taken + 1 ? screen->rows - taken - 1 : 0,
        .columns = screen->columns,
        .limits.max = {[CHECK_LIMIT_SECTIONS] = stopped,
                       [CHECK_LIMIT_STORIES] = 1,
                       [CHECK_LIMIT_FINDINGS] = UINT32_MAX},
    };

    for (size_t i = 0; i < sizeof(grants) / sizeof(grants[0]); i++)
        grant(&fit, grants[i].limit, grants[i].max);
    check_text_within(out, report, &fit.limits);
}
