#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
line delay=5 rate=100 queue=40
