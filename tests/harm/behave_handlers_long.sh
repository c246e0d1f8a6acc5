#!/usr/bin/env bash
# behave_handlers_long.sh - behave_handlers.sh, all of it, several times.
# labels: long
# timeout: 1800
HARM_LONG=1 HARM_REPEAT=6 HARM_JOBS=2 exec bash "$SRC/tests/harm/behave_handlers.sh"
