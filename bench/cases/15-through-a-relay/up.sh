#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=60 rate=10 queue=100
