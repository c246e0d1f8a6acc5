# runpath.sh - no built file makes the loader search the current folder.
. "$SRC/tests/e2e/lib.sh" || exit 1

command -v readelf >/dev/null || {
	echo "readelf is missing: skipped"
	exit 77
}

# empty_entries - of readelf -d's output, the run paths with an empty entry: "[:a]", "[a::b]", "[a:]", "[]".
empty_entries() {
	grep -E '\((RUNPATH|RPATH)\)' | grep -E '\[(:|\])|::|:\]'
}

# The check itself has to find them.
for path in '[]' '[:a]' '[a::b]' '[a:]' '[$ORIGIN/lib:::]'; do
	echo " 0x1d (RUNPATH) Library runpath: $path" | empty_entries >/dev/null || failed "$path passes"
done
echo ' 0x1d (RUNPATH) Library runpath: [$ORIGIN/../lib:/opt/lib]' | empty_entries && failed "a good path"

find "$BUILD/accelprof" "$BUILD/lib" "$BUILD/bench" "$BUILD/tests" -type f \
	\( -perm -u+x -o -name '*.so*' \) ! -name '*.a' -print0 >files 2>/dev/null
xargs -0 readelf -d <files >paths 2>/dev/null
grep -q RUNPATH paths || failed "no file has a run path: what was read?"
empty_entries <paths && failed "an empty entry in a run path: see cmake/PastaTargets.cmake"
done_
