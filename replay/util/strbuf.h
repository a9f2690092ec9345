/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Text: lines put together in a buffer of fixed size. What does not fit is cut, never overrun.
 */
#ifndef REPLAY_UTIL_STRBUF_H
#define REPLAY_UTIL_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strbuf {
    char *p; /* always ends with a zero byte */
    size_t cap;
    size_t len;
};

/* An empty text over `buf`; cap > 0. */
struct strbuf strbuf_of(char *buf, size_t cap);

void strbuf_addf(struct strbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An address of roce_pkt_addr(): "192.0.2.1" or "2001:db8::1". */
void strbuf_add_addr(struct strbuf *t, const uint8_t addr[16]);

/* "960 ns", "12.5 µs", "1.024 ms", "3 s"; "141 bytes", "67.0 kB". */
void strbuf_add_duration(struct strbuf *t, uint64_t ns);
void strbuf_add_size(struct strbuf *t, double bytes);

/* The other way round of an address; false for text that is no address. */
bool parse_ip_addr(const char *text, uint8_t addr[16]);

/* Writes text that others chose, a file name say: what is no printable UTF-8 comes escaped ("\n",
 * "\x1b"), so that a line stays one and no terminal obeys it. */
void put_escaped(FILE *out, const char *text);

/* The character at `p`, not at the end, in UTF-8: its bytes, and *code; 0 bytes if it is none. */
unsigned utf8_decode(const char *p, uint32_t *code);

/* Writes a file name, say, as one word of a shell's command. */
void put_shell_word(FILE *out, const char *word);

#endif
