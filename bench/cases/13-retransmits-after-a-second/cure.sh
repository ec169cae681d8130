#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
for host in "a 1" "b 2"; do
    set -- $host
    ip -n "$P$1" route change default via "10.77.$2.1" congctl cubic
done
