/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* ABI: names of libibverbs.so.1 that no program calls, but that the dynamic loader must find.
 * compat.def lists old versions of functions (IBVERBS_1.0, of 2006). private.def lists functions
 * that provider libraries such as libmlx5 import. Every other name is defined in the file that
 * implements it; libibverbs.map has the version of each. */
#include "verbs/abi.h"

#include <errno.h>
#include "verbs/objects.h"

/* ---- compatibility symbols of version IBVERBS_1.0 (not the default version) ------------------ */

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

/* Registration functions of provider libraries before 2007. */
SYMVER(rnic_private_ignore, ibv_register_driver, "@", "IBVERBS_1.1");

/* ---- functions that provider libraries import ------------------------------------------------ */

RNIC_EXPORT int rnic_private_none(void);
RNIC_EXPORT void rnic_private_ignore(void);

/* Replaces private functions that need a device of a provider library. Always fails with
 * EOPNOTSUPP. */
int rnic_private_none(void)
{
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

/* Replaces registration functions that constructors of provider libraries call. Provider libraries
 * do not get a device. */
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

/* Exported variable: a provider library sets it if its device can be removed at run time. */
bool rnic_allow_disassociate_destroy;
SYMVER_PRIVATE(rnic_allow_disassociate_destroy, verbs_allow_disassociate_destroy);
