#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=0.5 loss=1
for host in "a 1" "b 2"; do
    set -- $host
    ip -n "$P$1" route change default via "10.77.$2.1" congctl cubic rto_min 1s
done
