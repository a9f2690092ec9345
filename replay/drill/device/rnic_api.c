/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/rnic_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const struct rnic_api rnic_api_own = {
#define X(name) .name = name,
    RNIC_API(X)
#undef X
};

int rnic_api_load(struct rnic_api *api, const char *path, struct error *error)
{
    char file[4096];
    void *library, *symbol;

    /* A path without a slash would make dlopen() search the folders of system libraries. */
    snprintf(file, sizeof(file), "%s%s", strchr(path, '/') ? "" : "./", path);
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(error, "%s", dlerror());
#define X(name)                                                                                    \
    symbol = dlsym(library, #name);                                                                \
    if (!symbol)                                                                                   \
        return error_set(error, "%s: no function %s", path, #name);                                \
    memcpy(&api->name, &symbol, sizeof(symbol));
    RNIC_API(X)
#undef X
    return 0;
}
