#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
line delay=5 rate=50 queue=40
