#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=25
