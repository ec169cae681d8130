#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=1 work=50 queue=5
touch "$STATE/each"
