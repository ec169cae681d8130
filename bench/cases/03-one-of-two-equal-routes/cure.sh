#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
set_at r net.ipv4.fib_multipath_hash_policy=1
