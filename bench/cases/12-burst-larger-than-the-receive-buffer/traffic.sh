#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
iperf -u -b 40M -l 1400 $([ -e "$STATE/small" ] && echo "-w 8192")
