// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Receives Ethernet frames, one byte a cycle, and stores one RoCEv2 packet. Drops frames that are not
// whole packets for the own address: wrong lengths, fragments, IPv4 options or checksum, another UDP
// port, TVer or ICRC. The UDP checksum is not checked: the ICRC covers the packet.
module roce_rx (
    input              clk,
    input              rst,
    input      [47:0]  own_mac,
    input      [127:0] own_addr,     // IPv6, or ::ffff:a.b.c.d for IPv4
    input      [7:0]   s_data,
    input              s_valid,
    input              s_last,       // last byte of the frame, which has no FCS
    output             s_ready,
    output reg         pkt_valid,    // the packet below is valid until pkt_done
    input              pkt_done,
    output reg [127:0] pkt_src,
    output reg [7:0]   pkt_opcode,
    output reg [1:0]   pkt_pad,
    output reg [15:0]  pkt_pkey,
    output reg [23:0]  pkt_dest_qp,
    output reg         pkt_ackreq,
    output reg [23:0]  pkt_psn,
    output reg [12:0]  pkt_len,      // bytes between BTH and ICRC
    output reg [159:0] pkt_ext,      // the first 20 of these bytes, the first one on top
    input      [12:0]  buf_addr,     // reads one of these bytes, in the next cycle
    input              buf_read,
    output reg [7:0]   buf_data
);
    `include "crc32.vh"
    `include "roce_faults.vh"

    localparam [2:0] ETH = 0, IP = 1, UDP = 2, BTH = 3, BODY = 4, TAIL = 5;
    localparam [15:0] UDP_MIN = 8 + 12 + 4, UDP_MAX = 8 + 12 + 20 + 4096 + 4;

    reg [2:0]   state;
    reg [15:0]  n;        // byte of the header
    reg [119:0] prior;   // the 15 bytes before this one
    reg         good, v6;
    reg [15:0]  ip_len, udp_len, sum;
    reg [31:0]  crc;
    reg [7:0]   body [0:8191];

    wire        take     = s_valid && s_ready;
    wire [15:0] half     = {prior[7:0], s_data};
    wire [16:0] sum_next = {1'b0, sum} + {1'b0, half};
    wire [15:0] sum_fold = sum_next[15:0] + {15'd0, sum_next[16]};
    wire        own_v6   = own_addr[127:32] != 96'hFFFF;
    wire        for_us   = (v6 ? {prior, s_data} : {96'hFFFF, prior[23:0], s_data}) == own_addr
                           && v6 == own_v6;
    wire        body_end = state == BODY && n == udp_len - 16'd21;

    // Bytes that routers may change count as ones.
    reg [7:0] mask;
    always @* begin
        mask = 8'h00;
        if (state == IP && !v6 && (n == 1 || n == 8 || n == 10 || n == 11)) mask = 8'hFF;
        if (state == IP && v6 && n == 0) mask = 8'h0F;
        if (state == IP && v6 && ((n >= 1 && n <= 3) || n == 7)) mask = 8'hFF;
        if (state == UDP && n >= 6) mask = 8'hFF;
        if (state == BTH && n == 4) mask = 8'hFF;
    end
    wire [31:0] crc_next = crc32_byte(crc, s_data | mask);
    wire        whole    = state == TAIL || (body_end && (crc_next == CRC_RESIDUE || `FAULT(1)));

    assign s_ready = !pkt_valid;

    always @(posedge clk) begin
        if (take && state == BODY) body[n[12:0]] <= s_data;
        if (buf_read) buf_data <= body[buf_addr];
    end

    always @(posedge clk) begin
        if (pkt_done) pkt_valid <= 0;
        if (take) begin
            prior <= {prior[111:0], s_data};
            crc    <= state == ETH ? CRC_SEED : crc_next;
            n      <= n + 1;
            case (state)
            ETH: begin
                if (n == 5 && {prior[39:0], s_data} != own_mac) good <= 0;
                if (n == 13) begin
                    v6 <= half == 16'h86DD;
                    if (half != 16'h86DD && half != 16'h0800) good <= 0;
                    state <= IP; n <= 0; sum <= 0;
                end
            end
            IP: if (v6) begin
                if (n == 0 && s_data[7:4] != 6) good <= 0;
                if (n == 5) ip_len <= half;
                if (n == 6 && s_data != 17) good <= 0;
                if (n == 23) pkt_src <= {prior, s_data};
                if (n == 39) begin
                    if (!for_us) good <= 0;
                    state <= UDP; n <= 0;
                end
            end else begin
                if (n[0]) sum <= sum_fold;
                if (n == 0 && s_data != 8'h45) good <= 0;
                if (n == 3) ip_len <= half - 16'd20;
                if (n == 6 && (s_data & 8'hBF) != 0) good <= 0; // only "don't fragment" may be set
                if (n == 7 && s_data != 0) good <= 0;
                if (n == 9 && s_data != 17) good <= 0;
                if (n == 15) pkt_src <= {96'hFFFF, prior[23:0], s_data};
                if (n == 19) begin
                    if (!for_us || sum_fold != 16'hFFFF) good <= 0;
                    state <= UDP; n <= 0;
                end
            end
            UDP: begin
                if (n == 3 && half != 4791) good <= 0;
                if (n == 5) begin
                    udp_len <= half;
                    if (half != ip_len || half < UDP_MIN || half > UDP_MAX || half[1:0] != 0) good <= 0;
                end
                if (n == 7) begin
                    state <= BTH; n <= 0;
                end
            end
            BTH: begin
                if (n == 0) pkt_opcode <= s_data;
                if (n == 1) begin
                    pkt_pad <= s_data[5:4];
                    if (s_data[3:0] != 0) good <= 0;
                end
                if (n == 3) pkt_pkey <= half;
                if (n == 7) pkt_dest_qp <= {prior[15:0], s_data};
                if (n == 8) pkt_ackreq <= s_data[7];
                if (n == 11) begin
                    pkt_psn <= {prior[15:0], s_data};
                    pkt_len <= udp_len[12:0] - 13'd24;
                    state <= BODY; n <= 0;
                end
            end
            BODY: begin
                if (n < 20) pkt_ext[8 * (19 - n[4:0]) +: 8] <= s_data;
                if (body_end) begin
                    state <= TAIL;
                    if (!whole) good <= 0;
                end
            end
            default: ; // padding of a short frame
            endcase
            if (s_last) begin
                pkt_valid <= good && whole;
                state <= ETH; n <= 0; good <= 1;
            end
        end
        if (rst) begin
            state <= ETH; n <= 0; good <= 1; pkt_valid <= 0;
        end
    end
endmodule
