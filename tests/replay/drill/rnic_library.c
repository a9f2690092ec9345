/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The software RNIC as a shared library for `rocedrill drill --so`. If the environment variable
 * ROCEDRILL_FAULT names a fault of rnic/transport/faults.def or drill_faults.def, the RNIC has this
 * fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transport/fault.h"

enum rnic_fault rnic_fault;

static const char *const names[RNIC_FAULT_CNT] = {
#define FAULT(NAME, rules, text, why) [RNIC_FAULT_##NAME] = #NAME,
#include "transport/drill_faults.def"
#include "transport/faults.def"
#undef FAULT
};

__attribute__((constructor)) static void choose_fault(void)
{
    const char *wanted = getenv("ROCEDRILL_FAULT");

    if (!wanted)
        return;
    for (unsigned i = RNIC_FAULT_NONE + 1; i < RNIC_FAULT_CNT; i++)
        if (strcmp(names[i], wanted) == 0)
            rnic_fault = (enum rnic_fault)i;
    if (rnic_fault == RNIC_FAULT_NONE) {
        fprintf(stderr, "ROCEDRILL_FAULT %s: no fault has this name\n", wanted);
        abort();
    }
}
