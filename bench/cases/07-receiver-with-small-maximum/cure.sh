#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
set_at b "net.ipv4.tcp_rmem=4096 131072 6291456"
