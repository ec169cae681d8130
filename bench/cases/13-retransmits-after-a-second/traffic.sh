#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
ask rr 200 200
