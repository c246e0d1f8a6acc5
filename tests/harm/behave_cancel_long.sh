#!/usr/bin/env bash
# behave_cancel_long.sh - behave_cancel.sh, with more than 1,000 runs of its program.
# labels: long
# timeout: 1800
HARM_REPEAT=125 HARM_JOBS=2 exec bash "$SRC/tests/harm/behave_cancel.sh"
