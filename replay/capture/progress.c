/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/progress.h"

#include <inttypes.h>
#include <unistd.h>
#include "base/clock.h"
#include "util/strbuf.h"

/* FIRST_NS: time before the first progress line is printed. PERIOD_NS: minimum time between two
 * lines. */
#define FIRST_NS  UINT64_C(1000000000)
#define PERIOD_NS UINT64_C(200000000)

void progress_begin(struct progress *progress, FILE *out, bool wanted, const char *what)
{
    *progress = (struct progress){.what = what};
    if (!wanted || !isatty(fileno(out)))
        return;
    progress->out = out;
    progress->due = rnic_clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
}

void progress_step(struct progress *progress, const struct capture_reader *reader, uint32_t frames)
{
    uint64_t done, total, now;

    if (!progress->out)
        return;
    now = rnic_clock_ns(CLOCK_MONOTONIC);
    if (now < progress->due)
        return;
    progress->due = now + PERIOD_NS;
    progress->shown = true;
    reader_progress(reader, &done, &total);
    fprintf(progress->out, "\r%s ", progress->what);
    put_escaped(progress->out, reader_name(reader));
    fprintf(progress->out, ": %u frames", frames);
    if (total)
        fprintf(progress->out, ", %" PRIu64 " %%", done * 100 / total);
    fprintf(progress->out, "\033[K"); /* erases the rest of a longer line */
    fflush(progress->out);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        fprintf(progress->out, "\r\033[K");
    progress->shown = false;
}
