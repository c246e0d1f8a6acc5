#!/usr/bin/env bash
# doctor.sh - doctor reports what works, and what to do about the rest.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH

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
has "no agent" out '^no  agent +PASTA_AGENT is set to /nowhere, which cannot be used as the agent \(No such file'
echo rubbish >agent.so
PASTA_AGENT=$PWD/agent.so "$ACCELPROF" doctor >out 2>err
is "an agent that is none: status" $? 1
has "an agent that is none" out '^no  agent +cannot load the agent'

# In a build tree that was moved, the agent does not find the folder for Python.
mkdir -p moved/lib
cp "$BUILD/lib/libpasta-agent.so" moved/lib/
export PASTA_AGENT=$PWD/moved/lib/libpasta-agent.so
"$ACCELPROF" doctor >out
has "no folder for Python" out '^no  python +regions .*cannot read .*/sitecustomize.py: build or install'
for options in "-q" "-t ops" "-t regions --stacks python"; do
	# shellcheck disable=SC2086 # words
	"$ACCELPROF" run $options -o moved/run -- sh -c 'echo begun >&2' 2>err || failed "run $options"
	is "run $options: before the program starts" "$(grep -n '^begun' err | cut -d: -f1)" 2
	has "run $options" err '^accelprof: not recorded: regions and steps of Python .*cannot read .*/sitecustomize.py'
	rm -r moved/run
done
"$ACCELPROF" run -q -t regions -o moved/run -- true 2>err
lines "no one asks for Python" err 0
mkdir -p moved/share/accelprof/python/site
cp "$SRC/python/site/sitecustomize.py" moved/share/accelprof/python/site/
"$ACCELPROF" doctor >out
has "no package" out '^no  python .*cannot read .*/_hook.py'
cp -r "$SRC/python/accelprof" moved/share/accelprof/python/
"$ACCELPROF" doctor >out
has "all of it" out '^ok  python '
unset PASTA_AGENT

# OpenCL: which devices there are, or what to install.
opencl() {
	"$ACCELPROF" doctor | grep -E '^(ok|no ) +opencl '
}
mkdir empty loader
OCL_ICD_VENDORS=$PWD/empty opencl >out
has "no platform" out '^no  opencl .*: no OpenCL platform: install a driver, or pocl-opencl-icd'
echo rubbish >loader/libOpenCL.so.1
LD_LIBRARY_PATH=$PWD/loader opencl >out
has "no loader" out '^no  opencl .*: no OpenCL loader: install ocl-icd-libopencl1'
if command -v cc >/dev/null; then
	echo 'int nothing;' | cc -shared -fPIC -o loader/libOpenCL.so.1 -x c -
	LD_LIBRARY_PATH=$PWD/loader opencl >out
	has "a library that is none" out '^no  opencl .*: libOpenCL.so.1 is not an OpenCL loader: install'
	cat >loader.c <<-'EOF'
		int clGetPlatformIDs(unsigned n, void **p, unsigned *found)
		{
			static int platform;
			if (n)
				*p = &platform;
			*found = 1;
			return 0;
		}
		int clGetPlatformInfo(void) { return -1; }
		int clGetDeviceIDs(void) { return -1; }
		int clGetDeviceInfo(void) { return -1; }
	EOF
	cc -shared -fPIC -o loader/libOpenCL.so.1 loader.c
	LD_LIBRARY_PATH=$PWD/loader opencl >out
	has "a loader without layers or devices" out '^no  opencl .*(no OpenCL platform has a device|does not support layers)'
fi
if [ -n "$(ls /etc/OpenCL/vendors/*.icd 2>/dev/null)" ]; then
	opencl >out
	has "platform and device" out '^ok  opencl .*: [^:]+: [^ ]+'
fi

# The page's example has all that there is here, in order.
names() {
	sed -n 's/^\(ok\|no\) \+\([a-z]\+\) .*/\2/p' "$1"
}
"$ACCELPROF" doctor >out
is "docs/doctor.md: checks" "$(names "$SRC/docs/doctor.md")" "$(names out)"

"$ACCELPROF" doctor please 2>err
is "doctor please" $? 2
"$ACCELPROF" tools >out || failed "tools"
has "tools" out '^regions +host and device time by region'
is "docs/tools.md: the list" "$(sed -n '/^\$ accelprof tools$/,/^\$ /p' "$SRC/docs/tools.md" | grep -v '^\$')" "$(cat out)"
for tool in $(cut -d ' ' -f 1 out); do
	[ -f "$SRC/docs/tools/$tool.md" ] || failed "docs/tools/$tool.md"
	has "docs/tools.md: the table" "$SRC/docs/tools.md" "^\| \[$tool\]\(tools/$tool.md\) "
	"$ACCELPROF" tools "$tool" | grep -q '^kinds:.* access_' || continue
	has "docs/memory-accesses.md: the tools" "$SRC/docs/memory-accesses.md" "\[$tool\]\(tools/$tool.md\)"
done
"$ACCELPROF" tools regions >out || failed "tools regions"
has "tools regions" out '^  iterations +yes\|no +add a table .*default: yes'
"$ACCELPROF" tools nosuch 2>err
is "tools nosuch" $? 1
has "tools nosuch" err "unknown tool 'nosuch'"
done_
