#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=5 hold=20,0
touch "$STATE/small"
