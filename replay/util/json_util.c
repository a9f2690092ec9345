/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_util.h"

#include <stdlib.h>
#include <string.h>
#include "util/hex.h"
#include "util/strbuf.h"

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

json_t *json_addr(const uint8_t addr[16])
{
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, addr);
    return json_string(buf);
}

json_t *json_hex(const uint8_t *bytes, size_t len)
{
    char *text = malloc(2 * len + 1);
    json_t *json;

    if (!text)
        return NULL;
    hex_format(text, bytes, len);
    json = json_stringn(text, 2 * len);
    free(text);
    return json;
}
