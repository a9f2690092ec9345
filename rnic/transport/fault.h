/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Faults: a device that breaks one rule on purpose. Only a test build (RNIC_FAULTS defined) can
 * have them, where one variable chooses; in any other RNIC_FAULT() is false and the compiler leaves
 * nothing of it.
 */
#ifndef RNIC_FAULT_H
#define RNIC_FAULT_H

#ifdef RNIC_FAULTS

enum rnic_fault {
    RNIC_FAULT_NONE,
#define FAULT(NAME, rules, text, why) RNIC_FAULT_##NAME,
#include "transport/faults.def"
#undef FAULT
    RNIC_FAULT_CNT
};

/* The one that the device has; the test program's. */
extern enum rnic_fault rnic_fault;

#define RNIC_FAULT(NAME) (rnic_fault == RNIC_FAULT_##NAME)

#else

#define RNIC_FAULT(NAME) 0

#endif
#endif
