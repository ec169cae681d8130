#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=40 rate=100 queue=50
set_at b "net.ipv4.tcp_rmem=4096 131072 262144"
