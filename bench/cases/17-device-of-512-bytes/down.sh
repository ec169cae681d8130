#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
down
