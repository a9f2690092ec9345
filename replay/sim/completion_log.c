/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/completion_log.h"

#include <stdlib.h>
#include <string.h>
#include "util/keymap.h"

int completion_log_add(struct completion_log *log, const struct sim_completion *completion)
{
    if (!VEC_GROW(log->entry, log->cnt, log->cap))
        return -1;
    log->entry[log->cnt++] = *completion;
    return 0;
}

void completion_log_fit(struct completion_log *log)
{
    size_t size = log->cnt * sizeof(*log->entry);
    struct sim_completion *entry = size ? malloc(size) : NULL;

    if (!entry)
        return;
    memcpy(entry, log->entry, size);
    free(log->entry);
    log->entry = entry;
    log->cap = log->cnt;
}
