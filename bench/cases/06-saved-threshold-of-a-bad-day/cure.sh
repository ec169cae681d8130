#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
set_at a net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_no_ssthresh_metrics_save=1
ip -n "${P}a" tcp_metrics flush
