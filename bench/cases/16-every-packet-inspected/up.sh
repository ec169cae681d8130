#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
up
line delay=1 work=200 queue=20
