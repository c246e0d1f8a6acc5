# opencl_hashcat.sh - hashcat finds a known password.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need hashcat

# hashcat stores its session, kernels and results in its home.
export HOME=$PWD XDG_CACHE_HOME=$PWD/cache XDG_DATA_HOME=$PWD/data
hash=$(printf 'cl3a7' | md5sum | cut -d' ' -f1)
counted run hashcat -m 0 -a 3 --force --potfile-disable --outfile found "$hash" '?l?l?d?l?d'
is "status" $? 0
is "found" "$(cat found)" "$hash:cl3a7"
grep -aE '^(Status|Guess|Speed|Progress|Recovered)' run.out
"$dump" run >run.dump || failed "dump"
"${events[@]}" counts run.dump run.count || failed "not what the layer counted"

# It keeps its kernels' binaries, which cannot be counted: each time from their sources.
# shellcheck disable=SC2016 # the shell that is started expands it
anew=(sh -c 'rm -rf cache data .hashcat .local found; exec "$@"' sh)
if hot hot -- "${anew[@]}" hashcat -m 0 -a 3 --force --potfile-disable --outfile found "$hash" '?l?l?d?l?d'; then
	is "hotness: found" "$(cat found)" "$hash:cl3a7"
	has "hotness: counted" <(accessed hot) '^[1-9][0-9]* accesses$'
	lines "hotness: left out" <(accessed hot) 1
fi
done_
