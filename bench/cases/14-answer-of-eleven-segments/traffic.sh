#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
ask crr 100 28000
