# moved_build.sh - a build tree works where it is copied to, and names what is missing there.
. "$SRC/tests/e2e/lib.sh" || exit 1

mkdir moved moved/lib
cp -a "$BUILD/accelprof" "$BUILD/include" "$BUILD/share" moved/ && cp -a "$BUILD"/lib/*.so* moved/lib/ ||
	failed "cannot copy the build tree"
accelprof=$dir/moved/accelprof

# Nothing comes from the tree that it was copied from, but for links to the sources.
"$accelprof" doctor >out || failed "doctor"
has "the agent" out "^ok  agent +$dir/moved/lib/libpasta-agent\.so$"
"$accelprof" run -q -t regions -o run -- "$BUILD/tests/programs/regions_demo" >out || failed "run"
is "events" "$(json run/results/report.json 'd["loss"]["captured"]')" 59
"$accelprof" report run >out || failed "report"
has "a table" out '^train/step/forward '
"$accelprof" run -q -t regions -o python -- python3 -c 'import accelprof
with accelprof.region("moved"): pass' || failed "a Python program"
is "its events" "$(json python/results/report.json 'd["loss"]["captured"]')" 2

# Without the sources, or in another folder than its libraries, a message names the file.
rm moved/share/accelprof/python && ln -s "$dir/absent" moved/share/accelprof/python
"$accelprof" doctor >out
has "doctor without the sources" out '^no  python .*share/accelprof/python/site/sitecustomize\.py'
"$accelprof" run -t ops -o none -- python3 -c 'print(1)' >out 2>err || failed "run without the sources"
has "run without the sources" err '^accelprof: not recorded: .*share/accelprof/python/site/sitecustomize\.py'
mv moved/lib moved/other
"$accelprof" run -o none2 -- true 2>err
is "run without the agent: status" $? 125
has "run without the agent" err "^accelprof: cannot find lib/libpasta-agent\.so in $dir/moved or its parent folder"
done_
