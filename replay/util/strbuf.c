/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/strbuf.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "wire/gid.h"

struct strbuf strbuf_of(char *buf, size_t cap)
{
    buf[0] = '\0';
    return (struct strbuf){.p = buf, .cap = cap};
}

void strbuf_addf(struct strbuf *t, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->p + t->len, t->cap - t->len, fmt, args);
    va_end(args);
    if (n > 0)
        t->len = (size_t)n < t->cap - t->len ? t->len + (size_t)n : t->cap - 1;
}

void strbuf_add_addr(struct strbuf *t, const uint8_t addr[16])
{
    char buf[INET6_ADDRSTRLEN];

    if (roce_gid_is_ip4(addr))
        inet_ntop(AF_INET, addr + 12, buf, sizeof(buf));
    else
        inet_ntop(AF_INET6, addr, buf, sizeof(buf));
    strbuf_addf(t, "%s", buf);
}

void strbuf_add_duration(struct strbuf *t, uint64_t ns)
{
    if (ns < 1000)
        strbuf_addf(t, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        strbuf_addf(t, "%.3g µs", (double)ns / 1e3);
    else if (ns < 1000000000)
        strbuf_addf(t, "%.4g ms", (double)ns / 1e6);
    else
        strbuf_addf(t, "%.4g s", (double)ns / 1e9);
}

void strbuf_add_durations(struct strbuf *t, uint64_t min_ns, uint64_t max_ns)
{
    char min_buf[32], max_buf[32];
    struct strbuf min = strbuf_of(min_buf, sizeof(min_buf));
    struct strbuf max = strbuf_of(max_buf, sizeof(max_buf));

    strbuf_add_duration(&min, min_ns);
    strbuf_add_duration(&max, max_ns);
    strbuf_addf(t, strcmp(min_buf, max_buf) == 0 ? "%s" : "%s to %s", min_buf, max_buf);
}

void strbuf_add_size(struct strbuf *t, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    unsigned u = 0;

    while (bytes >= 10000 && u + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1000;
        u++;
    }
    strbuf_addf(t, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

void strbuf_add_rate(struct strbuf *t, double bytes_per_s)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    double rate = bytes_per_s * 8;
    unsigned u = 0;

    while (rate >= 999.5 && u + 1 < sizeof(units) / sizeof(units[0])) {
        rate /= 1000;
        u++;
    }
    strbuf_addf(t, "%.3g %s", rate, units[u]);
}

void strbuf_add_percent(struct strbuf *t, uint64_t part, uint64_t whole)
{
    double percent = 100 * (double)part / (double)whole;

    if (percent > 0 && percent < 0.05)
        strbuf_addf(t, "< 0.1 %%");
    else if (percent > 0 && percent < 10)
        strbuf_addf(t, "%.1f %%", percent);
    else
        strbuf_addf(t, "%.0f %%", floor(percent + 0.5));
}

bool parse_ip_addr(const char *text, uint8_t addr[16])
{
    memset(addr, 0, 16);
    memset(addr + 10, 0xFF, 2);
    return inet_pton(AF_INET, text, addr + 12) == 1 || inet_pton(AF_INET6, text, addr) == 1;
}

unsigned utf8_decode(const char *p, uint32_t *code)
{
    /* Smallest code point of a UTF-8 character of each length. A smaller one is an overlong form,
     * which is invalid. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)*p;
    unsigned len = first < 0x80             ? 1
                   : (first & 0xE0) == 0xC0 ? 2
                   : (first & 0xF0) == 0xE0 ? 3
                   : (first & 0xF8) == 0xF0 ? 4
                                            : 0;

    if (len == 0)
        return 0;
    *code = len == 1 ? first : first & (0x7Fu >> len);
    /* The terminating zero of the text is not a continuation byte, so it ends this loop. */
    for (unsigned i = 1; i < len; i++) {
        if (((unsigned char)p[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | ((unsigned char)p[i] & 0x3F);
    }
    return *code >= least[len] && *code <= 0x10FFFF && (*code < 0xD800 || *code > 0xDFFF) ? len : 0;
}

/* Returns whether a code point is a control character. This includes 0x80 to 0x9F, which terminals
 * also interpret. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

void put_escaped(FILE *out, const char *text)
{
    while (*text) {
        uint32_t code;
        unsigned len = utf8_decode(text, &code);

        if (len > 0 && !is_control(code)) {
            fwrite(text, 1, len, out);
            text += len;
            continue;
        }
        for (len = len ? len : 1; len > 0; len--, text++)
            switch (*text) {
            case '\n': fputs("\\n", out); break;
            case '\r': fputs("\\r", out); break;
            case '\t': fputs("\\t", out); break;
            default: fprintf(out, "\\x%02x", (unsigned char)*text);
            }
    }
}

void put_shell_word(FILE *out, const char *word)
{
    bool plain = true;
    unsigned len;

    for (const char *p = word; *p && plain; p += len) {
        uint32_t code;

        len = utf8_decode(p, &code);
        plain = len > 0 && !is_control(code);
    }
    fputs(plain ? "'" : "$'", out); /* only in $'...' does a shell interpret escapes such as \x1b */
    for (; *word; word++) {
        const unsigned char c = (unsigned char)*word;

        if (c == '\'')
            fputs(plain ? "'\\''" : "\\'", out);
        else if (plain || (c >= 0x20 && c < 0x7F && c != '\\'))
            fputc(c, out);
        else
            fprintf(out, "\\%03o", c);
    }
    fputc('\'', out);
}
