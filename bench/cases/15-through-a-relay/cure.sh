#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
line delay=15 rate=80 queue=60
