# cupti_modules_recorded.sh - on a fake of CUPTI: modules are recorded, and saved on request.
# labels: asan
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
programs=$BUILD/tests/programs
cuda=$programs/fake_cuda
dump=$BUILD/tests/dump
unset CUDA_INJECTION64_PATH PASTA_CUDA_INJECTION PASTA_KEEP_MODULES
unset FAKE_CUPTI_VERSION FAKE_CUPTI_FAIL FAKE_CUPTI_DROP
export PASTA_CUPTI=$programs/fake_cupti.so
export cuda

# record NAME STATUS OPTIONS -- PROGRAM ARGS... - NAME, NAME.out, NAME.err, NAME.dump.
record() {
	local name=$1 status=$2
	shift 2
	timeout 60 "$ACCELPROF" run -q -o "$name" "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
	"$dump" "$name" module >"$name.dump" 2>"$name.dump.err" || failed "$name: dump"
}

# paths NAME - of the modules that were loaded, each once.
paths() {
	grep '"sub":1,' "$1.dump" | sed -n 's/.*"path":"\([^"][^"]*\)".*/\1/p' | sort -u
}

# saved NAME N - checks that the events name the N saved files, and that they hold the program's bytes.
saved() {
	is "$1: files" "$(find "$1/modules" -type f | wc -l)" "$2"
	is "$1: files that events name" "$(cd "$1" && ls modules/*.cubin)" "$(paths "$1")"
	is "$1: their bytes" "$(cksum "$1"/modules/* | cut -d ' ' -f 1,2 | sort)" \
		"$(cksum made/* | cut -d ' ' -f 1,2 | sort)"
}

# -- Without the option they are recorded, and nothing is written --
record plain 0 -- "$cuda" modules 4
is "plain: stderr" "$(cat plain.err)" ""
is "plain: loads" "$(grep -c '"sub":1,' plain.dump)" "$(json plain.out 'd["loads"]')"
is "plain: unloads" "$(grep -c '"sub":2,' plain.dump)" "$(json plain.out 'd["unloads"]')"
is "plain: paths" "$(paths plain)" ""
[ ! -e plain/modules ] || failed "plain: there is a folder"

# -- With the option each module is saved once, unloaded ones included --
mkdir made
FAKE_MODULES=$PWD/made record one 0 --keep-modules -- "$cuda" modules 4
is "one: stderr" "$(cat one.err)" ""
saved one 4
"$ACCELPROF" report one -t modules --format json >one.json || failed "report"
is "one: sizes, contexts, loads, unloads by device" \
	"$(json one.json 'sorted({tuple(r[i] for i in (1, 3, 4, 5, 6)) for r in d["tools"][0]["tables"][0]["rows"]})')" \
	"[(100000, 0, 1, 2, 1), (100000, 1, 1, 1, 0), (101000, 0, 1, 2, 1), (101000, 1, 1, 1, 0)]"
is "one: rows" "$(json one.json 'len(d["tools"][0]["tables"][0]["rows"])')" 8
"$ACCELPROF" export one --to sqlite -o one.db >/dev/null 2>&1 || failed "export"
is "one: exported" "$(python3 -c 'import sqlite3
print(*sorted({r[0] for r in sqlite3.connect("one.db").execute("SELECT path FROM module WHERE what = \"load\"")}), sep="\n")')" \
	"$(paths one)"

# Whatever else is recorded, and whether it is paused.
record count 0 --keep-modules --level count --paused -- "$cuda" modules 4
saved count 4

# -- Processes share them --
# shellcheck disable=SC2016 # the program's shell expands them
record family 0 --keep-modules -- \
	sh -c '"$cuda" modules 4 & "$cuda" modules 4 && "$cuda" modules 4 && wait $!'
is "family: stderr" "$(cat family.err)" ""
saved family 4
is "family: loads" "$(grep -c '"sub":1,' family.dump)" 36

# -- Where they cannot be written: a line, and the program's own status --
# fails NAME PATTERN SCRIPT - before the program begins.
fails() {
	record "$1" 3 --keep-modules -- sh -c "$3; '$cuda' modules 4; exit 3"
	lines "$1" "$1.err" 1
	has "$1" "$1.err" "^accelprof: .*modules: some modules cannot be saved in .* \($2\): free some space, or choose"
	is "$1: loads" "$(grep -c '"sub":1,' "$1.dump")" 12
	is "$1: what the program did" "$(json "$1.out" 'd["loads"]')" "$(json plain.out 'd["loads"]')"
}
# shellcheck disable=SC2016 # likewise
{
	fails folder 'Not a directory' 'touch "$PASTA_RUN/modules"'
	is "folder: paths" "$(paths folder)" ""
	mkdir probe
	if mount -t tmpfs -o size=64k tmpfs probe 2>/dev/null; then
		umount probe
		fails full 'No space left on device' \
			'mkdir "$PASTA_RUN/modules" && mount -t tmpfs -o size=150k tmpfs "$PASTA_RUN/modules"'
		is "full: paths" "$(paths full | wc -l)" 1
		is "full: files" "$(cd full && ls modules/*)" "$(paths full)"
		"$ACCELPROF" report full -t modules >full.report 2>&1 || failed "report of full"
		has "full: found" full.report 'modules without a saved copy'
		umount full/modules
		fails readonly 'Read-only file system' \
			'mkdir "$PASTA_RUN/modules" && mount -t tmpfs -o ro tmpfs "$PASTA_RUN/modules"'
		is "readonly: paths" "$(paths readonly)" ""
		umount readonly/modules
	else
		echo "no right to mount: full and read-only disks are not tried"
	fi
}
if [ "$(id -u)" != 0 ]; then
	# shellcheck disable=SC2016
	fails denied 'Permission denied' 'mkdir -m 555 "$PASTA_RUN/modules"'
fi

# -- A CUPTI that reports no modules, or no checksums of modules --
FAKE_CUPTI_FAIL=GetCubinCrc=999 record nocrc 0 --keep-modules -- "$cuda" modules 4
saved nocrc 4
is "nocrc: crc" "$(grep '"sub":1,' nocrc.dump | grep -o '"crc":[0-9]*' | sort -u)" '"crc":0'

# -- Nothing is left of a run that never began --
"$ACCELPROF" run -q --keep-modules -o none -- ./no-such-program 2>err
is "not found: status" $? 127
[ ! -e none ] || failed "not found: a folder is left"
done_
