#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
at r tc qdisc change dev rb root tbf rate 800mbit burst 100k limit 500k
