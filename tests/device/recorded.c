/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "recorded.h"

#include <stdio.h>
#include "support/suite.h"

void recorded_read(struct recorded *rec, const char *name)
{
    char path[512];
    uint32_t head[6];
    uint32_t lens[4]; /* pcap record header: timestamp (two words), captured length, length on the
                       * wire */
    FILE *file;

    snprintf(path, sizeof(path), "%s/captures/%s.pcap", TRACES, name);
    file = fopen(path, "rb");
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_FATAL(fread(head, sizeof(head), 1, file) == 1 && head[0] == 0xA1B2C3D4u);
    for (rec->cnt = 0; rec->cnt < RECORDED_FRAMES && fread(lens, sizeof(lens), 1, file) == 1;
         rec->cnt++) {
        struct pktgen_frame *frame = &rec->frame[rec->cnt];

        CU_ASSERT_FATAL(lens[2] <= sizeof(frame->bytes) && lens[2] == lens[3]);
        frame->len = lens[2];
        CU_ASSERT_FATAL(fread(frame->bytes, lens[2], 1, file) == 1);
    }
    fclose(file);
}
