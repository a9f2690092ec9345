// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The table of memory regions. Translates (key, address, length) to a local address, one region a cycle.
module roce_mr #(parameter MRS = 16) ( // a power of 2
    input             clk,
    input             rst,
    input             set,          // writes register set_reg of region set_mr
    input      [5:0]  set_mr,
    input      [2:0]  set_reg,
    input      [31:0] set_data,
    input             start,        // looks up the four values, which stay until done
    input      [31:0] key,
    input      [63:0] va,
    input      [31:0] len,
    input             remote,       // needs remote write; otherwise local write
    output reg        done,
    output reg        hit,
    output reg [31:0] local_addr
);
    `include "roce_faults.vh"

    localparam MB = $clog2(MRS);

    reg [31:0] mr_key [0:MRS-1], mr_len [0:MRS-1], mr_local [0:MRS-1];
    reg [63:0] mr_va  [0:MRS-1];
    reg [2:0]  mr_access [0:MRS-1]; // valid, remote write, local write
    reg [MB-1:0] i;
    reg          run;

    wire [63:0] off   = va - mr_va[i]; // an address before the region wraps to a large offset
    wire [31:0] limit = mr_len[i] + (`FAULT(3) ? 32'd8 : 32'd0);
    wire        same  = mr_access[i][2] && mr_key[i] == key;
    wire        right = remote ? mr_access[i][1] : mr_access[i][0];
    wire        fits  = off <= {32'd0, limit} && len <= limit - off[31:0];

    integer k;
    always @(posedge clk) begin
        done <= 0;
        if (start && !run && !done) begin
            run <= 1; i <= 0; hit <= 0;
        end
        if (run) begin
            i <= i + 1;
            if (same) begin
                hit <= right && fits;
                local_addr <= mr_local[i] + off[31:0];
            end
            if (same || i == {MB{1'b1}}) begin
                run <= 0; done <= 1;
            end
        end
        if (set && set_mr < MRS) case (set_reg)
            0: mr_access[set_mr[MB-1:0]]    <= set_data[2:0];
            1: mr_key[set_mr[MB-1:0]]       <= set_data;
            2: mr_va[set_mr[MB-1:0]][63:32] <= set_data;
            3: mr_va[set_mr[MB-1:0]][31:0]  <= set_data;
            4: mr_len[set_mr[MB-1:0]]       <= set_data;
            5: mr_local[set_mr[MB-1:0]]     <= set_data;
            default: ;
        endcase
        if (rst) begin
            run <= 0; done <= 0;
            for (k = 0; k < MRS; k = k + 1) mr_access[k] <= 0;
        end
    end
endmodule
