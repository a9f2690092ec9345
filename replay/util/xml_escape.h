/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XML escape: writes text into the XML of JUnit reports. */
#ifndef REPLAY_UTIL_XML_ESCAPE_H
#define REPLAY_UTIL_XML_ESCAPE_H

#include <stdio.h>

/* Writes UTF-8 text. Escapes characters with a meaning in XML, and writes '?' for forbidden
 * characters. */
void xml_escape(FILE *out, const char *text);

/* Writes a file name or a message that contains one. Such text may be invalid UTF-8, so '?'
 * replaces each byte that is not ASCII. */
void xml_escape_name(FILE *out, const char *name);

#endif
