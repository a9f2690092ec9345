/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_util.h"

#include <stdlib.h>
#include <string.h>

json_t *json_lossy_string(const char *text)
{
    json_t *json = json_string(text);
    char *ascii = json ? NULL : strdup(text);

    if (!ascii)
        return json;
    for (char *p = ascii; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    json = json_string(ascii);
    free(ascii);
    return json;
}
