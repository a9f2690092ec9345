/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Faults: deliberate bugs of our RNIC, each of which violates one rule. With a fault enabled, the
 * tests must fail. Only a test build (RNIC_FAULTS defined) contains them; the variable rnic_fault
 * selects one. In other builds RNIC_FAULT() is false, and the compiler removes the code. */
#ifndef RNIC_FAULT_H
#define RNIC_FAULT_H

#ifdef RNIC_FAULTS

enum rnic_fault {
    RNIC_FAULT_NONE,
#define FAULT(NAME, rules, text, why) RNIC_FAULT_##NAME,
#include "transport/faults.def"
    RNIC_FAULT_SEEN_CNT, /* number of faults that captures or simulations can show, plus 1 */
    RNIC_FAULT_SEEN_LAST = RNIC_FAULT_SEEN_CNT - 1,
#include "transport/drill_faults.def"
#undef FAULT
    RNIC_FAULT_CNT
};

/* Selected fault of the device under test; defined by the test program. */
extern enum rnic_fault rnic_fault;

#define RNIC_FAULT(NAME) (rnic_fault == RNIC_FAULT_##NAME)

#else

#define RNIC_FAULT(NAME) 0

#endif
#endif
