/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/completion_log.h"

#include "util/keymap.h"

int completion_log_add(struct completion_log *log, const struct sim_completion *completion)
{
    if (!VEC_GROW(log->entry, log->cnt, log->cap))
        return -1;
    log->entry[log->cnt++] = *completion;
    return 0;
}
