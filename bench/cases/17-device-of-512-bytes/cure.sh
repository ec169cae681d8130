#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
ip -n "${P}a" link set eth0 mtu 1500
