# _torch.sh - the Pythons that have PyTorch, one for each version of it: pythons. None: skip.
pythons=()
versions=" "
for python in "${PASTA_PYTHON:-}" ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"} python3 /usr/bin/python3 \
	$(compgen -c python3. | grep -E '^python3\.[0-9]+$' | sort -u); do
	version=$([ -n "$python" ] && "$python" -c 'import torch; print(torch.__version__)' 2>/dev/null) || continue
	case $versions in *" $version "*) continue ;; esac
	versions+="$version "
	pythons+=("$python")
done
[ ${#pythons[@]} -gt 0 ] || {
	echo "skipped: no Python with PyTorch (apt-get install python3-torch, or set PASTA_PYTHON)"
	exit 77
}
