/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests of util/json_writer.h: the text must equal the text that jansson writes for the same
 * object. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "support/suite.h"
#include "util/json_writer.h"

static json_t *nested(void)
{
    return json_pack("{s:s, s:[i, {s:[], s:{}}]}", "text", "line\nfeed", "list", 1, "none",
                     "empty");
}

/* Returns one value of each type, and a text of each kind. */
static json_t *all_types(void)
{
    char spaces[5000];
    json_t *o = json_pack("{s:b, s:b, s:n, s:f, s:f, s:s, s:s, s:s, s:s}", "true", 1, "false", 0,
                          "none", "half", 0.5, "large", 1e300, "quote", "say \"no\"", "path",
                          "a\\b/c", "delete", "\x7F", "umlaut", "\xC3\xA4");

    memset(spaces, ' ', sizeof(spaces) - 1);
    spaces[sizeof(spaces) - 1] = '\0';
    json_object_set_new(o, "long", json_string(spaces));
    json_object_set_new(o, "zero byte", json_stringn("a\0b", 3));
    json_object_set_new(o, "tab\tkey", json_integer(0));
    json_object_set_new(o, "least", json_integer(INT64_MIN));
    json_object_set_new(o, "most", json_integer(INT64_MAX));
    return o;
}

static void text_equals_that_of_json_dumps(void)
{
    json_t *object = json_pack("{s:o, s:[], s:[o, i, o], s:i}", "first", nested(), "empty",
                               "elements", nested(), 2, all_types(), "last", -1);
    char *want = json_dumps(object, JSON_INDENT(2)), *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct json_writer w = {.out = out, .indent = 2};

    putc('{', out);
    json_writer_member(&w, "first", nested());
    json_writer_list(&w, "empty");
    json_writer_list_end(&w);
    json_writer_list(&w, "elements");
    json_writer_element(&w, nested());
    json_writer_next(&w);
    putc('2', out);
    json_writer_element(&w, all_types());
    json_writer_list_end(&w);
    json_writer_member(&w, "last", json_integer(-1));
    fputs("\n}", out);
    fclose(out);
    CU_ASSERT_FALSE(w.failed);
    CU_ASSERT_STRING_EQUAL(text, want);
    json_decref(object);
    free(want);
    free(text);
}

static void add_element(void *ctx, const char *list, const json_t *element)
{
    char *text = ctx;

    strcat(text, list);
    strcat(text, json_string_value(element));
}

static void each_element_is_passed_even_without_a_file(void)
{
    char found[16] = "";
    struct json_writer w = {.element = add_element, .ctx = found};

    json_writer_member(&w, "x", json_string("y"));
    json_writer_list(&w, "a");
    json_writer_element(&w, json_string("1"));
    json_writer_element(&w, json_string("2"));
    json_writer_list_end(&w);
    json_writer_list(&w, "b");
    json_writer_element(&w, json_string("3"));
    json_writer_list_end(&w);
    CU_ASSERT_STRING_EQUAL(found, "a1a2b3");
    CU_ASSERT_FALSE(w.failed);
}

static void value_that_could_not_be_created_is_a_failure(void)
{
    struct json_writer w = {.out = NULL};

    json_writer_member(&w, "x", NULL);
    CU_ASSERT_TRUE(w.failed);
}

SUITE("replay.json_writer", TEST(text_equals_that_of_json_dumps),
      TEST(each_element_is_passed_even_without_a_file),
      TEST(value_that_could_not_be_created_is_a_failure))
