#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=5 rate=100 queue=40 late=30,0 late_ms=12
