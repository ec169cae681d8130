#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
wire b 3 eth1 rc
ip -n "${P}b" addr add 10.77.9.2/32 dev lo
for device in rb rc; do at r tc qdisc add dev $device root tbf rate 40mbit burst 20k limit 200k; done
ip -n "${P}r" route add 10.77.9.2 nexthop via 10.77.2.2 nexthop via 10.77.3.2
