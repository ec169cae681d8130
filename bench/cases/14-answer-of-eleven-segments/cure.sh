#!/bin/bash
. "$(dirname "$0")/../lib/lib.sh"
ip -n "${P}b" route change default via 10.77.2.1 congctl cubic initcwnd 20
