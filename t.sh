#!/bin/bash
. /tmp/h1/env.sh; cd /work/main; nice -n 3 python -m pytest -q -p no:cacheprovider "$@" 2>&1
