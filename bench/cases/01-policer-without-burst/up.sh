#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=10
at r nft "table ip police { chain f { type filter hook forward priority 0; iifname line ip daddr $B limit rate over 3500/second burst 10 packets drop; }; }"
