#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
iperf -u -l 1316 -b $([ -e "$STATE/high" ] && echo 30M || echo 15M)
