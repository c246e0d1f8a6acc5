#!/usr/bin/env bash
# files.sh - accelprof opens, makes, renames and removes files through src/process/io/files.c alone.
set -eu

calls='open|open64|openat|openat64|openat2|creat|creat64|fopen|fopen64|freopen|freopen64|fdopendir'
calls+='|opendir|scandir|scandir64|scandirat|ftw|ftw64|nftw|nftw64|fts_open|glob|glob64|mkdir|mkdirat'
calls+='|mkdtemp|mktemp|mkstemp|mkstemp64|mkostemp|mkostemp64|mkstemps|mkostemps|tmpfile|tmpfile64'
calls+='|tmpnam|tempnam|mkfifo|mkfifoat|mknod|mknodat|memfd_create|shm_open|unlink|unlinkat|remove'
calls+='|rmdir|rename|renameat|renameat2|link|linkat|symlink|symlinkat|truncate|truncate64|chmod'
calls+='|fchmodat|chown|lchown|fchownat|utime|utimes|utimensat|lutimes|setxattr|lsetxattr|popen|system'
calls+='|execv|execve|execvp|execvpe|execl|execlp|execle|posix_spawn|posix_spawnp|dlopen|dlmopen|syscall'
calls+='|__open_2|__open64_2|__openat_2|__openat64_2|open_by_handle_at|sqlite3_open|sqlite3_open_v2'
calls+='|sqlite3_open16|gzopen|gzopen64|elf_begin|dwarf_begin|dwfl_report_elf|dwfl_report_offline'

# What is not the module's: the program under study and workers are started, libraries are loaded,
# the database is what the module has made, libdw gets a descriptor, and importers make shards in a
# run that is new.
may='^process/files\.c |^core/shardwriter\.c (open|unlink)$|^sink/database\.c sqlite3_open_v2$'
may+='|^process/dwarf\.c dwfl_report_elf$|^(process/(plugin|demangle)|cli/(cli|measurecuda|measureopencl))\.c dlopen$'
may+='|^cli/child\.c execvp$|^process/worker\.c execv$|^(cli/witness|core/lock)\.c syscall$'

# breaches TREE SOURCES - "FILE CALL" for each call in the wrong file, by what the objects need from
# outside: however it is written, by a pointer or in a macro, it is there. Objects of files that are
# removed do not count.
breaches() (
	cd "$1"
	find . -name '*.o' | sed -nE 's#.*/src/((process|sink|cli|import|core)/[^/]*\.c)\.o$#& \1#p' |
		while read -r object file; do
			[ ! -e "$2/src/$file" ] || nm -u "$object" | sed -nE "s#^ *[Uw] ($calls)(@.*)?\$#$file \1#p"
		done | grep -vE "$may" | sort -u
)

command -v nm >/dev/null || {
	echo "there is no nm"
	exit 77
}

# A checker that finds nothing has to be one that could.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted"/src/{process,sink,cli,import}
cat >"$planted/src/process/a.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int a(const char *path, int *fd);
int a(const char *path, int *fd)
{
	int (*to)(const char *) = unlink;
	*fd = open
		(path, O_RDONLY);
	return to(path);
}
END
cp "$planted"/src/process/{a,files}.c
sed 's/unlink/rmdir/' "$planted/src/process/a.c" >"$planted/src/import/b.c"
for file in process/a process/files import/b; do
	${CC:-cc} -O2 -c -o "$planted/src/$file.c.o" "$planted/src/$file.c"
done
want='import/b.c open
import/b.c rmdir
process/a.c open
process/a.c unlink'
[ "$(breaches "$planted" "$planted")" = "$want" ] || {
	echo "of the planted breaches these were found:"
	breaches "$planted" "$planted"
	exit 1
}

objects=$(find "$BUILD" -path '*/src/process/*.c.o' | wc -l)
sources=$(find "$SRC/src/process" -name '*.c' | wc -l)
[ "$objects" -ge "$sources" ] || {
	echo "$sources sources, and $objects objects: where are they?"
	exit 1
}
found=$(breaches "$BUILD" "$SRC" || true)
[ -z "$found" ] || {
	echo "$found"
	echo "files are opened, made and removed through src/process/io/files.h alone"
	exit 1
}
