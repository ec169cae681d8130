#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=5 rate=50 queue=40 twice=100,0
