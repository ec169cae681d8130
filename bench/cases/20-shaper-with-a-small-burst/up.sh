#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
at r tc qdisc add dev rb root tbf rate 800mbit burst 5k limit 500k
