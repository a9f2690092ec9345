/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_compare_state.h"

int64_t response_cmp_epsn(const struct response_cmp *cmp)
{
    return cmp->advances ? cmp->dir->advance[cmp->advances - 1].epsn : cmp->dir->setup.first;
}

uint32_t response_cmp_msn(const struct response_cmp *cmp)
{
    return cmp->advances ? cmp->dir->advance[cmp->advances - 1].msn : cmp->dir->setup.msn;
}
