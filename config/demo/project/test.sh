#!/bin/sh
. ./slug.sh

failed=0
check() {
    got=$(slug "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    '$1' -> $got"
    else
        echo "FAIL  '$1' -> '$got', expected '$2'"
        failed=1
    fi
}

check "hello" "hello"
check "Hello World" "hello-world"
# more checks go above this line
exit $failed
