/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XML escape: writes text into the XML of JUnit reports. */
#ifndef REPLAY_UTIL_XML_ESCAPE_H
#define REPLAY_UTIL_XML_ESCAPE_H

#include <stdio.h>

/* Writes UTF-8 text. Characters with a meaning in XML are escaped, forbidden ones become '?'. */
void xml_escape(FILE *out, const char *text);

/* Writes a file name, or a message that contains one. It may be invalid UTF-8: each byte that is
 * not ASCII becomes '?'. */
void xml_escape_name(FILE *out, const char *name);

#endif
