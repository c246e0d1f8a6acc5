#!/usr/bin/env bash
# includes.sh - includes point one way, tools see the SDK alone, and the core knows no vendor.
set -eu

# allowed ROOM - the paths that its files may include in quotes, an extended regular expression.
allowed() {
	case $1 in
	src/core) echo '^core/' ;;
	src/reduce) echo '^(reduce|core)/' ;;
	# The agent meets its handlers through one header.
	src/collect) echo '^(collect|reduce|core)/|^handlers/handler\.h$' ;;
	# What devices count with is filled by their handler.
	src/handlers) echo '^(handlers|collect|core)/|^reduce/gpu\.h$' ;;
	# What agents write on the control page is read here.
	src/process) echo '^(process|core)/|^collect/control\.h$' ;;
	src/import) echo '^(import|process|core)/' ;;
	src/sass) echo '^(sass|core)/' ;;
	src/sink) echo '^(sink|process|core)/' ;;
	# accelprof and the agent share mapped files: their formats, not the collector. doctor asks
	# the agent for its handlers.
	src/cli)
		echo '^(cli|process|sink|import|sass|core)/|^collect/(control|channel)\.h$|^handlers/handler\.h$'
		;;
	*) echo '^$' ;;
	esac
}

# includes ROOM - a line an include: "file:line path" for quotes, "file:line <path>" for brackets.
includes() {
	find "$1" -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) \
		-exec grep -HnE '^[[:space:]]*#[[:space:]]*include' {} + |
		sed -nE 's/^([^:]*:[0-9]+):[^"<]*("([^"]*)"|(<[^>]*>)).*/\1 \3\4/p'
}

# breaches TREE - a line for each rule that a file breaks.
breaches() (
	cd "$1"
	for room in include/pasta src/* tools; do
		[ -d "$room" ] || continue
		includes "$room" | grep -v ' <' | while read -r where path; do
			[[ $path =~ $(allowed "$room") ]] || echo "$where: $room may not include \"$path\""
		done
		# Brackets are for what is not in src.
		includes "$room" | grep ' <' | while read -r where path; do
			[ ! -e "src/${path//[<>]/}" ] || echo "$where: write $path in quotes"
		done
	done

	libc='assert|complex|ctype|errno|fenv|float|inttypes|limits|locale|math|signal|stdalign|stdarg'
	libc+='|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|threads|time'
	libc+='|uchar|unistd|wchar|wctype|sys/types'
	[ ! -d tools ] || includes tools | grep ' <' | grep -vE " <(pasta/[a-z_]+|$libc)\.h>" |
		sed 's/$/: tools include <pasta\/*.h> and libc only/'

	# The agent needs events and containers, not the interface of tools.
	for room in src/core src/collect src/reduce src/handlers; do
		[ ! -d "$room" ] || includes "$room" |
			grep -E ' <pasta/(tool|pasta|collect|group|series|directory|ledger|access|out|chart)\.h>' |
			sed "s|\$|: $room may not include the interface of tools|"
	done

	[ ! -d src/core ] || { grep -rniE 'cupti|sanitizer|rocprofiler|opencl|torch' src/core
		grep -rnE '\<hip[A-Z]' src/core; } | sed 's/$/: a vendor in the core/'
	true
)

# A checker that finds nothing has to be one that could.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted"/src/{core,process,cli} "$planted"/tools
echo '#include "process/reader.h"' >"$planted/src/core/a.c"
echo '#include "cli/verb.h"' >"$planted/src/process/b.c"
echo '/* as in CUPTI */' >"$planted/src/core/c.c"
echo '#include <sys/socket.h>' >"$planted/tools/d.c"
echo '#include "core/err.h"' >"$planted/tools/e.c"
echo '#include <pasta/group.h>' >"$planted/src/core/g.c"
printf '#include "process/reader.h"\n#include <pasta/tool.h>\n' >"$planted/src/cli/fine.c"
if [ "$(breaches "$planted" | wc -l)" != 6 ]; then
	echo "of 6 planted breaches these were found:"
	breaches "$planted"
	exit 1
fi

found=$(breaches "$SRC")
[ -z "$found" ] || {
	echo "$found"
	exit 1
}
