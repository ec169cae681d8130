#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=10
set_at a net.ipv4.tcp_ecn=1
at r nft "table ip old { chain f { type filter hook forward priority 0; tcp flags & (syn | ecn | cwr) == syn | ecn | cwr drop; }; }"
