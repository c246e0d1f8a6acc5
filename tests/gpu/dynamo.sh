#!/usr/bin/env bash
# dynamo.sh - torch.compile compiles the same frames with --stacks modules, to the same bits, and what
# it compiled before is still in its cache. On the CPU where PyTorch finds no GPU.
# timeout: 600
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
export CUBLAS_WORKSPACE_CONFIG=:4096:8 PYTHONDONTWRITEBYTECODE=1
export XDG_CACHE_HOME=$dir/cache TORCHINDUCTOR_CACHE_DIR=$dir/graphs
program=$SRC/tests/gpu/dynamo.py

python=
for candidate in "${PASTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" python3; do
	[ -n "$candidate" ] && "$candidate" -c 'import torch; torch.compiler.is_compiling' 2>/dev/null &&
		python=$candidate && break
done
[ -n "$python" ] || skip "no Python that has PyTorch 2.1 or later: set PASTA_PYTHON to one"

# compiled NAME BACKEND [COMMAND...]
compiled() {
	local name=$1 backend=$2
	shift 2
	"$@" "$python" "$program" "$name" "$backend" >"$name.log" 2>&1 || {
		failed "$name: status $?"
		tail -n 20 "$name.log"
		return 1
	}
	grep '^PyTorch' "$name.log"
	is "$name: warnings" "$(grep -c -i 'warn.*hook' "$name.log")" 0
}

# recorded NAME BACKEND
recorded() {
	compiled "$1" "$2" "$ACCELPROF" run -q -t ops --stacks python,modules -o "$1.run" --
}

# same NATIVE RECORDED
same() {
	cmp -s "$1" "$2" || {
		failed "$2 differs from $1"
		diff "$1" "$2" | head -20
	}
}

compiled native eager && recorded eager eager && same native eager
is "one frame" "$(json native 'd["plain"]["frames"]')" "{'total': 1, 'ok': 1}"

# Outside of graphs, operators have modules: in the eager model, and in the compiled one as a whole.
export_ eager.run
modules() {
	python3 - eager.run.db "$1" <<-'EOF'
		import sqlite3, sys
		db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
		names = {m for (m,) in db.execute("SELECT DISTINCT module FROM op") if m}
		print(sorted(n for n in names if n.startswith(sys.argv[2])))
	EOF
}
is "modules of what is not compiled" "$(modules Eager)" "['Eager', 'Eager.fc']"
is "modules of what is compiled" "$(modules OptimizedModule | grep -c "'OptimizedModule'")" 1
is "ours among them" "$(python3 -c '
import sqlite3
db = sqlite3.connect("file:eager.run.db?mode=ro", uri=True)
print(db.execute("SELECT count(*) FROM op WHERE stack LIKE ?", ("%accelprof%",)).fetchone()[0])')" 0

# The first fills the inductor's cache; the others find it so.
if "$python" "$program" cold inductor >cold.log 2>&1; then
	compiled warm inductor && recorded inductor inductor && same warm inductor
	is "from the cache" "$(json warm 'list(d["plain"]["cache"])')" "['fxgraph_cache_hit']"
else
	echo "left out: the inductor does not work here: $(tail -n 1 cold.log)"
fi
done_
