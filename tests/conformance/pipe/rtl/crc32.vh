// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// CRC-32 of Ethernet, which the ICRC uses too: one byte a cycle, least significant bit first.
localparam [31:0] CRC_SEED    = 32'hDEBB20E3; // the register after the 8 bytes FF before the IP header
localparam [31:0] CRC_RESIDUE = 32'hDEBB20E3; // the register after a packet with its right ICRC

function [31:0] crc32_byte(input [31:0] crc, input [7:0] data);
    integer i;
    begin
        crc32_byte = crc ^ {24'd0, data};
        for (i = 0; i < 8; i = i + 1)
            crc32_byte = {1'b0, crc32_byte[31:1]} ^ (crc32_byte[0] ? 32'hEDB88320 : 32'd0);
    end
endfunction
