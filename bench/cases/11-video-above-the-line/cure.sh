#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
rm "$STATE/high"
