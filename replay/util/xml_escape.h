/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Xml: text as it may stand in an XML document, for the JUnit reports. */
#ifndef REPLAY_UTIL_XML_ESCAPE_H
#define REPLAY_UTIL_XML_ESCAPE_H

#include <stdio.h>

/* What has a meaning in XML is escaped; what may not stand there becomes '?'. The text is UTF-8. */
void xml_escape(FILE *out, const char *text);

/* The same for a file name or a message with one in it, which need not be UTF-8. */
void xml_escape_name(FILE *out, const char *name);

#endif
