# RC in VLAN 10 with priority 3: 802.1Q tagged frames; connect, SEND, WRITE, READ, FETCH_ADD, disconnect
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
for side in left right; do
    if [ $side = left ]; then me=1 peer=2; else me=2 peer=1; fi
    on $side "/usr/bin/ip link add link eth0 name eth0.10 type vlan id 10 egress-qos-map 0:3 && \
        /usr/bin/ip link set eth0.10 addrgenmode none && /usr/bin/ip link set eth0.10 up && \
        /usr/bin/ip addr add 203.0.113.$me/24 dev eth0.10 && \
        /usr/bin/ip neigh replace 203.0.113.$peer lladdr 02:52:6f:43:45:0$peer nud permanent dev eth0.10"
done
drive --ip 203.0.113.1,203.0.113.2 --cm recv=64 send=10 write=3000 read=3000 fadd=1,off=8192
status=$?
on left "/usr/bin/ip link del eth0.10"
on right "/usr/bin/ip link del eth0.10"
[ $status = 0 ]
