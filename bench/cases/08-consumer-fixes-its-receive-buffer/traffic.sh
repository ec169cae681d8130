#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
iperf -R $([ -e "$STATE/fixed" ] && echo "-w 32768")
