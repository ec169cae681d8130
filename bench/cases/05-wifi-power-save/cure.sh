#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
line delay=2
