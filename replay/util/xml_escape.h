/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XML escape: writes text into the XML of JUnit reports and the HTML of pages. */
#ifndef REPLAY_UTIL_XML_ESCAPE_H
#define REPLAY_UTIL_XML_ESCAPE_H

#include <stdio.h>

/* Writes UTF-8 text. Escapes the characters that XML interprets, and writes '?' for characters that
 * XML forbids. */
void xml_escape(FILE *out, const char *text);

/* Writes text that contains a file name. Such text may be invalid UTF-8, so '?' replaces each byte
 * that is not ASCII. */
void xml_escape_name(FILE *out, const char *name);

#endif
