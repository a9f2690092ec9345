/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Error codes of the wire layer. They report packets of other protocols, headers that cannot be
 * parsed, and mistakes of the caller. Any other defect in a packet is not an error: it is recorded
 * in the parsed packet (enum roce_defect). */
#ifndef ROCE_ERROR_H
#define ROCE_ERROR_H

enum roce_error {
    ROCE_OK = 0,
    ROCE_ERR_NOT_ROCE = -1,  /* the packet belongs to another protocol */
    ROCE_ERR_CUT = -2,       /* the capture ends before the end of the BTH or of the MAD */
    ROCE_ERR_MALFORMED = -3, /* the headers cannot be parsed up to the BTH; roce_pkt.defects has the
                              * reason */
    ROCE_ERR_NOSPACE = -4,   /* the caller's buffer is too small */
    ROCE_ERR_INVALID = -5,   /* the packet cannot be encoded */
};

/* Returns one line of text for a code of enum roce_error; "unknown error" for any other number. */
const char *roce_error_text(int error);

#endif
