#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
set_at a net.ipv4.tcp_no_metrics_save=0 net.ipv4.tcp_no_ssthresh_metrics_save=0
line delay=50 rate=100 queue=100 loss=4,0
N=2 ask rr 1000000 8 >>"$STATE/log"
line delay=50 rate=100 queue=100
