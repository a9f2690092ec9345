/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/narrow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "capture/capture_reader.h"
#include "wire/tunnel.h"

#define SECONDS_MAX 1e9 /* longest time, s (about 30 years); in ns it still fits into 64 bits */

/* Parses a number from `min` to 2^32 - 2. Returns true and sets *out, or false for other text. */
static bool number_of(const char *text, unsigned long min, uint32_t *out)
{
    char *end;
    unsigned long long n;

    errno = 0;
    n = strtoull(text, &end, 10);
    *out = (uint32_t)n;
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && n >= min && n < UINT32_MAX;
}

/* Parses a time in ns, us, ms or s. A number without a unit is in seconds. Returns true and sets
 * *out in ns, or false for other text. */
static bool time_of(const char *text, uint64_t *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    char *end;
    double n;

    if (strspn(text, "0123456789.") == 0 || text[0] == '.')
        return false;
    n = strtod(text, &end);
    if (end != text + strspn(text, "0123456789."))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].name) == 0 && n * units[i].seconds <= SECONDS_MAX) {
            *out = (uint64_t)(n * units[i].seconds * 1e9 + 0.5);
            return true;
        }
    return false;
}

static bool address_of(const char *text, uint8_t out[16])
{
    memset(out, 0, 16);
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    out[10] = out[11] = 0xff;
    return inet_pton(AF_INET, text, out + 12) == 1;
}

int narrow_option(struct narrow *narrow, const char *command, int key, const char *text)
{
    narrow->any = true;
    switch (key) {
    case NARROW_FIRST:
        return number_of(text, 1, &narrow->first)
                   ? 0
                   : cli_error("%s: --first %s: not a number of frames", command, text);
    case NARROW_FROM:
        return time_of(text, &narrow->from)
                   ? 0
                   : cli_error("%s: --from %s: not a time such as 2.5s or 300ms", command, text);
    case NARROW_TO:
        return time_of(text, &narrow->to)
                   ? 0
                   : cli_error("%s: --to %s: not a time such as 2.5s or 300ms", command, text);
    case NARROW_HOST:
        narrow->has_host = address_of(text, narrow->host);
        return narrow->has_host ? 0 : cli_error("%s: --host %s: not an IP address", command, text);
    default:
        narrow->has_connection = number_of(text, 0, &narrow->connection);
        return narrow->has_connection
                   ? 0
                   : cli_error("%s: --connection %s: not a number", command, text);
    }
}

static bool has_address(const struct captured_frame *frame, const uint8_t host[16])
{
    uint8_t src[16], dst[16];
    struct roce_pkt pkt;

    if (roce_tunnel_parse(&pkt, frame->link, frame->data, frame->cap_len, frame->wire_len) != 0)
        return false;
    roce_pkt_addr(&pkt, src, dst);
    return memcmp(src, host, 16) == 0 || memcmp(dst, host, 16) == 0;
}

bool narrow_takes(const struct narrow *narrow, const struct captured_frame *frame, uint64_t start)
{
    uint64_t after = frame->time > start ? frame->time - start : 0;
    uint32_t number = frame->number;

    if (after < narrow->from || after > narrow->to)
        return false;
    if (narrow->frames &&
        (number >= narrow->frame_end || !(narrow->frames[number / 8] >> (number % 8) & 1)))
        return false;
    return !narrow->has_host || has_address(frame, narrow->host);
}

void narrow_free(struct narrow *narrow)
{
    free(narrow->frames);
    narrow->frames = NULL;
}
