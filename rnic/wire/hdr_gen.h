/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Generates the C declarations of every header in a table: length, struct, parse and build
 * functions. Private to the headers of wire/. There is no include guard: this file is included once
 * for each table, after the definition of
 *
 *   HDR_TABLE          the table: "wire/headers.def" or another table in its format
 *   HDR_LEN(ID)        the name of the length, as ROCE_X_LEN
 *   HDR_NAME(id)       the name of the struct, as roce_x
 *   HDR_FN(id, verb)   the name of a function, as roce_x_parse
 *
 * and undefines these four macros at its end. hdr.h documents the generated code.
 */
/* clang-format off */

enum {
#define HDR_BEGIN(id, ID, len, shrt, title, source) HDR_LEN(ID) = (len),
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include HDR_TABLE
};

#define HDR_BEGIN(id, ID, len, shrt, title, source)                 struct HDR_NAME(id) {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)     ctype name;
#define BYTES(hdr, name, byte, len, fmt, label)                         uint8_t name[len];
#define HDR_END(id)                                                 };
#include HDR_TABLE

#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    static inline void HDR_FN(id, parse)(const uint8_t *p, struct HDR_NAME(id) *out) {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
        out->name = (ctype)roce_bits_get(p, byte, bit, width);
#define BYTES(hdr, name, byte, len, fmt, label)                                                    \
        memcpy(out->name, p + (byte), len);
#define HDR_END(id) }
#include HDR_TABLE

#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    static inline void HDR_FN(id, build_numbers)(const struct HDR_NAME(id) *in, uint8_t *p) {      \
        const unsigned size = (len);                                                               \
        uint64_t words[((len) + 7) / 8] = {0};                                                     \
        (void)in; /* a header without numeric fields does not use `in` */
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
        roce_words_put(words, byte, bit, width, in->name);
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)                                                                                \
        roce_words_store(words, p, size); }
#include HDR_TABLE

#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    static inline void HDR_FN(id, build)(const struct HDR_NAME(id) *in, uint8_t *p) {              \
        HDR_FN(id, build_numbers)(in, p);
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)                                                    \
        memcpy(p + (byte), in->name, len);
#define HDR_END(id) }
#include HDR_TABLE
/* clang-format on */

#undef HDR_TABLE
#undef HDR_LEN
#undef HDR_NAME
#undef HDR_FN
