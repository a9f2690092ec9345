/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* What reaches a terminal: no more than it shows, and nothing that steers it. */
#include <stdlib.h>
#include <string.h>
#include "checkrun.h"
#include "support/suite.h"
#include "text.h"

/* ---- names -------------------------------------------------------------------------------------
 */

static void what_others_chose_is_escaped(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain name.pcap", "plain name.pcap"},
        {"", ""},
        {"a\nb\rc\td", "a\\nb\\rc\\td"},
        {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
        {"\303\251 \342\206\222 \360\237\230\200", "\303\251 \342\206\222 \360\237\230\200"},
        {"\302\233m", "\\xc2\\x9bm"},                 /* CSI of C1 */
        {"\377\233", "\\xff\\x9b"},                   /* no UTF-8 */
        {"\303", "\\xc3"},                            /* cut */
        {"\342\206", "\\xe2\\x86"},                   /* cut later */
        {"\300\233", "\\xc0\\x9b"},                   /* ESC in a form that is too long */
        {"\355\240\200", "\\xed\\xa0\\x80"},          /* half of a surrogate pair */
        {"\364\220\200\200", "\\xf4\\x90\\x80\\x80"}, /* past the last */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *shown = NULL;
        size_t len;
        FILE *out = open_memstream(&shown, &len);

        text_put(out, cases[i].text);
        fclose(out);
        CU_ASSERT_STRING_EQUAL(shown, cases[i].shown);
        free(shown);
    }
}

SUITE("replay.check_screen", TEST(what_others_chose_is_escaped))
