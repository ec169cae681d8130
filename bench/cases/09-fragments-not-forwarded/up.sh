#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=5 rate=50 queue=50
at r nft "table ip drops { chain f { type filter hook prerouting priority -500; ip frag-off & 0x3fff != 0 drop; }; }"
touch "$STATE/large"
