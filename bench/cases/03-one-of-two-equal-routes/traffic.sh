#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
B=10.77.9.2
iperf -P 8
