#!/usr/bin/env bash
# behave_signals_long.sh - behave_signals.sh, with more than 1,000 runs of its programs.
# labels: long
# timeout: 1800
HARM_REPEAT=50 HARM_JOBS=2 exec bash "$SRC/tests/harm/behave_signals.sh"
