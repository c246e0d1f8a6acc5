#!/usr/bin/env bash
# behave_signals.sh - a 10 kHz timer whose handler emits harms no phase of a program.
# timeout: 300
set -u
. "$SRC/tests/harm/_behave.sh" || exit 1

for phase in constructor first main threads malloc loader plugin stdio fork exec nested; do
	same "10 kHz: $phase" -- "$harm/signals" $phase
done
same "10 kHz: exit" --status 5 -- "$harm/signals" exit
same "on an alternate stack" -- "$harm/signals" stack
same "queued signals" --no-loss -- "$harm/signals" queue
same "another's SIGXFSZ" -- "$harm/signals" limit
same "dispositions and masks" --no-loss -- "$harm/signals" handled
for way in longjmp deeper nested altstack cancellable; do
	same "jumps: $way" --marks after=1000 -- "$harm/jumps" $way
done
# A signal at each of the first 200 instructions.
if "$harm/steps" dropped 1 >/dev/null 2>&1; then
	same "each instruction: events that are dropped" -- "$harm/steps" dropped
	same "each instruction: names" --marks first=200 --marks second=400 --no-loss -- "$harm/steps" names
	same "each instruction: the end of a thread" --no-loss -- "$harm/steps" end
else
	left_out "each instruction" "no right to trace"
fi
same "coroutines" --marks after=1000 --no-loss -- "$harm/jumps" coroutines
same "smallest stacks" --marks after=1000 --no-loss -- "$harm/jumps" small
done_
