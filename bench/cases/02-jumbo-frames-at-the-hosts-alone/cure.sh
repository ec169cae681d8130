#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
for host in a b; do ip -n "$P$host" link set eth0 mtu 1500; done
