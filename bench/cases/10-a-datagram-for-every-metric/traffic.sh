#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
iperf -u -b 20M -l $([ -e "$STATE/each" ] && echo 80 || echo 1400)
