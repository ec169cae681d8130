#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
line delay=1 work=10 queue=20
