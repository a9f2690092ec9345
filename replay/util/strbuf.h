/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Strbuf: builds text in a buffer of fixed size, and makes external text safe to print. Text that
 * does not fit is truncated. Used by all folders of replay/.
 *
 *   1. strbuf_of() over a char array,
 *   2. strbuf_add...(), as often as needed,
 *   3. read `p`.
 */
#ifndef REPLAY_UTIL_STRBUF_H
#define REPLAY_UTIL_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strbuf {
    char *p; /* always zero-terminated */
    size_t cap;
    size_t len;
};

/* Returns an empty text in `buf`. `cap` must be greater than 0. */
struct strbuf strbuf_of(char *buf, size_t cap);

void strbuf_addf(struct strbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends an IP address in the form of roce_pkt_addr(): "192.0.2.1" or "2001:db8::1". */
void strbuf_add_addr(struct strbuf *t, const uint8_t addr[16]);

/* Append a duration ("960 ns", "12.5 µs", "1.024 ms", "3 s"), a size ("141 bytes", "67.0 kB") or a
 * rate ("9.74 Gbit/s"). The rate is given in bytes/s. */
void strbuf_add_duration(struct strbuf *t, uint64_t ns);
/* Appends "20 ms to 40 ms", or one duration if both have the same text. */
void strbuf_add_durations(struct strbuf *t, uint64_t min_ns, uint64_t max_ns);
void strbuf_add_size(struct strbuf *t, double bytes);
void strbuf_add_rate(struct strbuf *t, double bytes_per_s);

/* Appends `part` in percent of `whole`, rounded: "43 %", below 10 % with one decimal ("2.5 %").
 * `whole` must be greater than 0. page/browser/words.js rounds in the same way. */
void strbuf_add_percent(struct strbuf *t, uint64_t part, uint64_t whole);

/* Parses an IP address into the form of roce_pkt_addr(). Returns true, or false if the text is not
 * an IP address. */
bool parse_ip_addr(const char *text, uint8_t addr[16]);

/* Writes external text, for example a file name. Escapes bytes that are not printable UTF-8 ("\n",
 * "\x1b"), so that the text has one line and cannot control a terminal. */
void put_escaped(FILE *out, const char *text);

/* Decodes the UTF-8 character at `p`, which must not be the end of the text. Returns its length in
 * bytes and sets *code. Returns 0 if the character is invalid. */
unsigned utf8_decode(const char *p, uint32_t *code);

/* Writes text, for example a file name, quoted as one word of a shell command. */
void put_shell_word(FILE *out, const char *word);

#endif
