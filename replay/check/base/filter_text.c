/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/filter_text.h"

#include <string.h>

void filter_text_print(FILE *out, const char *scope, const char *filter)
{
    if (!*scope)
        fprintf(out, "       Wireshark: %s\n", filter);
    else
        fprintf(out,
                strstr(filter, "||") ? "       Wireshark: %s && (%s)\n"
                                     : "       Wireshark: %s && %s\n",
                scope, filter);
}
