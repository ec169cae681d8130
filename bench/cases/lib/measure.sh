#!/bin/bash
# measure.sh PREFIX SECONDS CASE…: what the programs of each case say before and after its cure
for case in "${@:3}"; do
    cd "$case" || exit
    ./up.sh "$1"
    before=$(./traffic.sh "$1" "$2" 2>&1 | tail -1)
    ./cure.sh "$1"
    echo "$(basename "$case"): $before -> $(./traffic.sh "$1" "$2" 2>&1 | tail -1)"
    ./down.sh "$1"
    cd - >/dev/null || exit
done
