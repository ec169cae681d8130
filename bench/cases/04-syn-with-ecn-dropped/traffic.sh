#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
ask crr 64 1024
