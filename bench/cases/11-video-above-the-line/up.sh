#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=5 rate=20 queue=50
touch "$STATE/high"
