#!/usr/bin/env bash
# files.sh - accelprof opens, makes, renames and removes files through src/process/files.c alone.
set -eu

calls='open|open64|openat|openat2|creat|fopen|fopen64|freopen|opendir|scandir|scandirat|ftw|nftw|glob'
calls+='|mkdir|mkdirat|mkdtemp|mkstemp|mkostemp|mkstemps|mkostemps|tmpfile|tmpnam|tempnam|mkfifo'
calls+='|mkfifoat|mknod|mknodat|memfd_create|unlink|unlinkat|remove|rmdir|rename|renameat|renameat2'
calls+='|link|linkat|symlink|symlinkat|truncate|chmod|fchmodat|chown|lchown|fchownat'

# The module itself.
may='^src/process/files\.c:'

# breaches TREE - a line for each call that is in the wrong place. Members of structs that are called
# so, and comments, are no calls.
breaches() (
	cd "$1"
	find src/process src/sink src/cli src/import -name '*.[ch]' -exec grep -HnE \
		"(^|[^A-Za-z0-9_.>])($calls)[[:space:]]*\(" {} + |
		grep -vE "$may|^[^:]*:[0-9]+:[[:space:]]*(/\*|\*)" || true
)

# A checker that finds nothing has to be one that could.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted"/src/{process,sink,cli,import}
cat >"$planted/src/process/a.c" <<'END'
	fd = open(path, O_RDONLY);
	if (!unlinkat(folder, name, 0))
	error = seat->tool->open(seat->state, seat->opts, &err);
	pasta_files_open(folder, name, NULL);
 * Nobody may open(2) anything here.
END
echo '	FILE *f = fopen(path, "re");' >"$planted/src/sink/b.c"
echo '	return (rename(a, b) || mkdir (a, 0777));' >"$planted/src/cli/c.c"
echo '	fd = open(path, O_RDONLY);' >"$planted/src/process/files.c"
if [ "$(breaches "$planted" | wc -l)" != 4 ]; then
	echo "of 4 planted breaches these were found:"
	breaches "$planted"
	exit 1
fi

found=$(breaches "$SRC")
[ -z "$found" ] || {
	echo "$found"
	echo "files are opened, made and removed through src/process/files.h alone"
	exit 1
}
