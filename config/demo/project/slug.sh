#!/bin/sh
# slug TITLE: prints the title as a file name.
slug() {
    printf '%s\n' "$1"
}
