/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Abi: the names of libibverbs.so.1 that are there for the loader's sake: hidden versions of 2006
 * (compat.def) and what provider libraries import (private.def). The other names are defined where
 * their work is done; libibverbs.map gives each its version.
 */
#include "verbs/abi.h"

#include <errno.h>
#include "verbs/objects.h"

/* ---- the hidden IBVERBS_1.0 ------------------------------------------------------------------ */

RNIC_EXPORT void *rnic_compat_POINTER(void);
RNIC_EXPORT int rnic_compat_ERRNO(void);
RNIC_EXPORT int rnic_compat_MINUS(void);

void *rnic_compat_POINTER(void)
{
    errno = ENOSYS;
    return NULL;
}

int rnic_compat_ERRNO(void)
{
    errno = ENOSYS;
    return ENOSYS;
}

int rnic_compat_MINUS(void)
{
    errno = ENOSYS;
    return -1;
}

#define COMPAT(name, kind) SYMVER(rnic_compat_##kind, name, "@", "IBVERBS_1.0");
#include "verbs/compat.def"
#undef COMPAT

/* How a provider of before 2007 registered itself. */
SYMVER(rnic_private_ignore, ibv_register_driver, "@", "IBVERBS_1.1");

/* ---- what providers import ------------------------------------------------------------------- */

RNIC_EXPORT int rnic_private_none(void);
RNIC_EXPORT void rnic_private_ignore(void);

/* A provider's call that would need its hardware. */
int rnic_private_none(void)
{
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

/* A provider's constructor names itself; it gets no device to look at. */
void rnic_private_ignore(void)
{
}

#define PRIVATE(name) SYMVER_PRIVATE(rnic_private_none, name);
#include "verbs/private.def"
#undef PRIVATE

SYMVER(rnic_private_ignore, verbs_register_driver_34, "@@", "IBVERBS_PRIVATE_34");
SYMVER(rnic_private_ignore, verbs_register_driver_57, "@@", "IBVERBS_PRIVATE_57");
SYMVER(rnic_private_ignore, verbs_register_driver_59, "@@", "IBVERBS_PRIVATE_59");
SYMVER(rnic_private_ignore, verbs_register_driver_64, "@@", "IBVERBS_PRIVATE_64");
SYMVER(rnic_private_ignore, verbs_register_driver_65, "@@", "IBVERBS_PRIVATE_65");

/* Data, not a function: providers set it when their device may go away. */
bool rnic_allow_disassociate_destroy;
SYMVER_PRIVATE(rnic_allow_disassociate_destroy, verbs_allow_disassociate_destroy);
