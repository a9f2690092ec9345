// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Faults for the test of the drills: with the macro ROCE_FAULTS the argument +fault=N of the simulation
// switches fault N on. Without the macro `FAULT(N) is the constant 0, and no logic remains.
`ifdef ROCE_FAULTS
reg [31:0] fault;
initial if (!$value$plusargs("fault=%d", fault)) fault = 0;
`define FAULT(n) (fault == n)
`else
`define FAULT(n) 1'b0
`endif
