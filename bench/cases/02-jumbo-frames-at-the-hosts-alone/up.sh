#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
for host in a b; do ip -n "$P$host" link set eth0 mtu 9000; ip -n "${P}r" link set r$host mtu 9000; done
line delay=1 rate=100 most=1500
