/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests of util/json_line.h: jansson writes an object with the same members, and the two lines must
 * be equal. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "support/suite.h"
#include "util/json_line.h"
#include "util/json_util.h"

/* Ends the line, and compares it with the text that jansson writes for the object. */
static void check_line(struct json_line *line, char **text, json_t *object)
{
    char *want = json_dumps(object, JSON_COMPACT);
    size_t len = strlen(want);

    CU_ASSERT_EQUAL(json_line_end(line), 0);
    CU_ASSERT_EQUAL(fclose(line->out), 0);
    CU_ASSERT_FATAL(strlen(*text) == len + 1);
    CU_ASSERT_NSTRING_EQUAL(*text, want, len);
    CU_ASSERT_EQUAL(line->written, len + 1);
    CU_ASSERT_EQUAL((*text)[len], '\n');
    json_decref(object);
    free(want);
    free(*text);
}

static void begin(struct json_line *line, char **text)
{
    static size_t len;

    *text = NULL;
    json_line_begin(line, open_memstream(text, &len), false);
}

static void brief_line_omits_empty_members_but_no_elements(void)
{
    struct json_line line;
    char *text;
    size_t len;

    json_line_begin(&line, open_memstream(&text, &len), true);
    json_line_number(&line, "zero", 0);
    json_line_text(&line, "none", NULL);
    json_line_text(&line, "empty", "");
    json_line_bool(&line, "false", false);
    json_line_open(&line, "outer", '{');
    json_line_open(&line, "inner", '[');
    json_line_close(&line, ']');
    json_line_close(&line, '}');
    json_line_number(&line, "one", 1);
    json_line_open(&line, "list", '[');
    json_line_number(&line, NULL, 0);
    json_line_open(&line, NULL, '{');
    json_line_close(&line, '}');
    json_line_close(&line, ']');
    CU_ASSERT_EQUAL(json_line_end(&line), 0);
    fclose(line.out);
    CU_ASSERT_STRING_EQUAL(text, "{\"one\":1,\"list\":[0,{}]}\n");
    free(text);
}

static void texts_are_escaped(void)
{
    static const char *const texts[] = {"",
                                        "plain",
                                        "\"quoted\" \\ back",
                                        "a\nb\rc\td\be\f",
                                        "\1 \x1b[31m \x7f",
                                        "12.5 µs",
                                        "\xF0\x9F\x98\x80",
                                        "bad \xFF \"\xC3",
                                        "overlong \xC0\x80",
                                        "surrogate \xED\xA0\x80"};
    json_t *object = json_object();
    struct json_line line;
    char *text, key[8];

    begin(&line, &text);
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(key, sizeof(key), "k%u", i);
        json_line_text(&line, key, texts[i]);
        json_object_set_new(object, key, json_lossy_string(texts[i]));
    }
    json_line_text(&line, "none", NULL);
    json_object_set_new(object, "none", json_null());
    check_line(&line, &text, object);
}

static void numbers_are_exact(void)
{
    static const uint64_t numbers[] = {0, 1, 9, 10, 4294967295u, INT64_MAX};
    static const double reals[] = {0, 0.1, 1e9, 12345678.9, 1e300};
    json_t *object = json_object();
    struct json_line line;
    char *text, key[8];

    begin(&line, &text);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(key, sizeof(key), "n%u", i);
        json_line_number(&line, key, numbers[i]);
        json_object_set_new(object, key, json_integer((json_int_t)numbers[i]));
    }
    for (unsigned i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        snprintf(key, sizeof(key), "r%u", i);
        json_line_real(&line, key, reals[i]);
        json_object_set_new(object, key, json_real(reals[i]));
    }
    json_line_number(&line, "large", UINT64_MAX);
    json_object_set_new(object, "large", json_null());
    json_line_number_or_null(&line, "known", 7, 8);
    json_object_set_new(object, "known", json_integer(7));
    json_line_number_or_null(&line, "unknown", 8, 8);
    json_object_set_new(object, "unknown", json_null());
    check_line(&line, &text, object);
}

static void members_nest(void)
{
    json_t *object = json_pack("{s:[], s:{}, s:[s, {s:b}, {}], s:b, s:n}", "list", "object",
                               "mixed", "one", "two", 1, "false", 0, "null");
    struct json_line line;
    char *text;

    begin(&line, &text);
    json_line_open(&line, "list", '[');
    json_line_close(&line, ']');
    json_line_open(&line, "object", '{');
    json_line_close(&line, '}');
    json_line_open(&line, "mixed", '[');
    json_line_text(&line, NULL, "one");
    json_line_open(&line, NULL, '{');
    json_line_bool(&line, "two", true);
    json_line_close(&line, '}');
    json_line_open(&line, NULL, '{');
    json_line_close(&line, '}');
    json_line_close(&line, ']');
    json_line_bool(&line, "false", false);
    json_line_null(&line, "null");
    check_line(&line, &text, object);
}

/* Lines are longer than the buffer of json_line, so that a member begins at any position in the
 * buffer. */
static void lines_have_any_length(void)
{
    for (unsigned len = 8150; len < 8210; len++) {
        char *text, *letters = malloc(3 * len + 1);
        json_t *object = json_object();
        struct json_line line;

        CU_ASSERT_FATAL(letters != NULL);
        memset(letters, 'a', 3 * len);
        letters[3 * len] = '\0';
        letters[len] = '\n';
        begin(&line, &text);
        json_line_text(&line, "long", letters);
        json_object_set_new(object, "long", json_string(letters));
        letters[len - 40] = '\0';
        json_line_text(&line, "fits", letters);
        json_object_set_new(object, "fits", json_string(letters));
        json_line_number(&line, "number", INT64_MAX);
        json_object_set_new(object, "number", json_integer(INT64_MAX));
        check_line(&line, &text, object);
        free(letters);
    }
}

static void write_errors_are_told(void)
{
    FILE *full = fopen("/dev/full", "w");
    struct json_line line;

    CU_ASSERT_FATAL(full != NULL);
    setvbuf(full, NULL, _IONBF, 0);
    json_line_begin(&line, full, false);
    json_line_number(&line, "number", 1);
    CU_ASSERT_EQUAL(json_line_end(&line), -1);
    fclose(full);
}

SUITE("replay.json_line", TEST(brief_line_omits_empty_members_but_no_elements),
      TEST(texts_are_escaped), TEST(numbers_are_exact), TEST(members_nest),
      TEST(lines_have_any_length), TEST(write_errors_are_told))
