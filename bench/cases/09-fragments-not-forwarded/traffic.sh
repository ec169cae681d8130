#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
iperf -u -b 5M -l $([ -e "$STATE/large" ] && echo 2000 || echo 1400)
