#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=20 rate=100 queue=50
touch "$STATE/fixed"
