/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/version.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include "wire/crc32.h"

void print_version(const char *program)
{
    printf("%s %s\nCRC-32: %s\n%s\n", program, RNIC_VERSION, roce_crc32_name(), pcap_lib_version());
}
