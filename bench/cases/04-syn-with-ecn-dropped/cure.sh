#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
set_at a net.ipv4.tcp_ecn=2
