// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Sends an acknowledgement (ACK or NAK), one byte a cycle.
module roce_tx (
    input              clk,
    input              rst,
    input      [47:0]  own_mac,
    input      [127:0] own_addr,
    input              start,        // with the values below; taken if !busy
    input      [47:0]  peer_mac,
    input      [127:0] peer_addr,
    input      [7:0]   tclass,
    input      [7:0]   hop_limit,
    input      [15:0]  sport,
    input      [15:0]  pkey,
    input      [23:0]  dest_qp,
    input      [23:0]  psn,
    input      [7:0]   syndrome,
    input      [23:0]  msn,
    output             busy,
    output     [7:0]   m_data,
    output             m_valid,
    output             m_last,
    input              m_ready
);
    `include "crc32.vh"

    localparam [15:0] UDP_LEN = 8 + 12 + 4 + 4;
    localparam [6:0]  LEN4 = 14 + 20 + 8 + 16, LEN6 = 14 + 40 + 8 + 16; // without the ICRC

    reg [623:0] frame;    // the next byte is on top
    reg [6:0]   n;        // byte of the frame
    reg         run, v6;
    reg [31:0]  crc;

    wire        peer_v6 = peer_addr[127:32] != 96'hFFFF;
    wire [7:0]  tos     = {tclass[7:2], 2'b00}; // not ECN-capable
    wire [6:0]  len     = v6 ? LEN6 : LEN4;

    // The checksum of the IPv4 header: the sum of its other half words, folded and inverted.
    wire [19:0] sum = {12'd0, tos} + 20'h4500 + {4'd0, 16'd20 + UDP_LEN} + 20'h4000
                      + {4'd0, hop_limit, 8'd17} + {4'd0, own_addr[31:16]} + {4'd0, own_addr[15:0]}
                      + {4'd0, peer_addr[31:16]} + {4'd0, peer_addr[15:0]};
    wire [16:0] fold = {1'b0, sum[15:0]} + {13'd0, sum[19:16]};
    wire [15:0] csum = ~(fold[15:0] + {15'd0, fold[16]});

    wire [159:0] ip4 = {8'h45, tos, 16'd20 + UDP_LEN, 16'd0, 16'h4000, hop_limit, 8'd17, csum,
                        own_addr[31:0], peer_addr[31:0]};
    wire [319:0] ip6 = {4'd6, tos, 20'd0, UDP_LEN, 8'd17, hop_limit, own_addr, peer_addr};
    wire [191:0] rest = {sport, 16'd4791, UDP_LEN, 16'd0,                    // UDP
                         8'h11, 8'h40, pkey, 8'd0, dest_qp, 8'd0, psn,       // BTH: ACK, MigReq
                         syndrome, msn};                                     // AETH

    // Bytes that routers may change count as ones.
    wire [6:0] at   = n - 7'd14;
    wire [6:0] at4  = n - (v6 ? 7'd54 : 7'd34); // byte after the IP header
    reg  [7:0] mask;
    always @* begin
        mask = 8'h00;
        if (!v6 && (at == 1 || at == 8 || at == 10 || at == 11)) mask = 8'hFF;
        if (v6 && at == 0) mask = 8'h0F;
        if (v6 && ((at >= 1 && at <= 3) || at == 7)) mask = 8'hFF;
        if (at4 == 6 || at4 == 7 || at4 == 12) mask = 8'hFF;
    end

    assign busy    = run;
    assign m_valid = run;
    assign m_last  = n == len + 7'd3;
    assign m_data  = n < len ? frame[623:616] : ~crc[7:0];

    always @(posedge clk) begin
        if (start && !run) begin
            run   <= 1;
            n     <= 0;
            v6    <= peer_v6;
            frame <= peer_v6 ? {peer_mac, own_mac, 16'h86DD, ip6, rest}
                             : {peer_mac, own_mac, 16'h0800, ip4, rest, 160'd0};
        end
        if (run && m_ready) begin
            n     <= n + 1;
            frame <= {frame[615:0], 8'd0};
            if (n < 14) crc <= CRC_SEED;
            else if (n < len) crc <= crc32_byte(crc, m_data | mask);
            else crc <= {8'd0, crc[31:8]};
            if (m_last) run <= 0;
        end
        if (rst) run <= 0;
    end
endmodule
