#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=2 work=100 queue=20
ip -n "${P}a" link set eth0 mtu 512
