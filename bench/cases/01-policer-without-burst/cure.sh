#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
at r nft flush table ip police
at r nft "table ip police { chain f { iifname line ip daddr $B limit rate over 3500/second burst 350 packets drop; }; }"
