/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The error codes of the wire layer. They are for our caller's mistakes, for resources, and for
 * "this is not such a packet"; what a peer did wrong inside a packet is data (enum roce_defect).
 */
#ifndef ROCE_ERROR_H
#define ROCE_ERROR_H

enum roce_error {
    ROCE_OK = 0,
    ROCE_ERR_NOT_ROCE = -1,  /* the bytes are another protocol's */
    ROCE_ERR_CUT = -2,       /* the capture ends before the transport header */
    ROCE_ERR_MALFORMED = -3, /* headers that cannot be walked; the defects say which */
    ROCE_ERR_NOSPACE = -4,   /* the caller's buffer is too small */
    ROCE_ERR_INVALID = -5,   /* the caller asked for something that cannot be put on the wire */
};

/* One line of text for a code of enum roce_error; "unknown error" for any other number. */
const char *roce_error_text(int error);

#endif
