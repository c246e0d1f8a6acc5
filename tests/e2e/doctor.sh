#!/usr/bin/env bash
# doctor.sh - doctor says what works, and what to do where it does not.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

"$ACCELPROF" doctor >out 2>err || failed "doctor: status $?"
for what in agent annotate stacks folder fork clock; do
	has "doctor" out "^(ok|no ) +$what "
done
has "doctor" out '^ok  agent +/.*libpasta-agent.so$'
has "doctor" out '^ok  annotate '
is "doctor leaves nothing behind" "$(find . -name '.accelprof*')" ""

"$ACCELPROF" doctor --format json >doctor.json || failed "doctor --format json"
is "json" "$(json doctor.json '[c["ok"] for c in d["checks"] if c["name"] == "agent"]')" "[True]"

PASTA_AGENT=/nowhere "$ACCELPROF" doctor >out 2>err
is "no agent: status" $? 1
has "no agent" out '^no  agent +PASTA_AGENT is /nowhere: No such file'
echo rubbish >agent.so
PASTA_AGENT=$PWD/agent.so "$ACCELPROF" doctor >out 2>err
is "an agent that is none: status" $? 1
has "an agent that is none" out '^no  agent +cannot load it'

"$ACCELPROF" doctor please 2>err
is "doctor please" $? 2
"$ACCELPROF" tools >out || failed "tools"
has "tools" out '^regions +host and device time by region'
"$ACCELPROF" tools regions >out || failed "tools regions"
has "tools regions" out '^  iterations .*default: yes'
"$ACCELPROF" tools nosuch 2>err
is "tools nosuch" $? 1
has "tools nosuch" err "there is no tool 'nosuch'"
done_
