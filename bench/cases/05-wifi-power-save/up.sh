#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=2 hold=0,100
