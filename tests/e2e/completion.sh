#!/usr/bin/env bash
# completion.sh - help, suggestions, shell completion and manual pages follow the option tables.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

commands=$("$ACCELPROF" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
is "commands" "$(echo $commands)" \
	"run report import export tools doctor new-tool help completion"
is "help" "$("$ACCELPROF" help)" "$("$ACCELPROF" --help)"
for command in $commands; do
	is "help $command" "$("$ACCELPROF" help "$command")" "$("$ACCELPROF" "$command" --help)"
done

# wrong PATTERN ARGUMENTS... - accelprof fails because of wrong usage.
wrong() {
	local pattern=$1
	shift
	"$ACCELPROF" "$@" >out 2>err
	is "$*: status" $? 2
	has "$*" err "$pattern"
	[ ! -s out ] || failed "$*: output"
}

wrong "^accelprof: unknown command 'reprot'; did you mean 'report'\?\$" reprot
wrong "^accelprof: unknown command 'reprot'; did you mean 'report'\?\$" help reprot
wrong "^accelprof: unknown command 'xyzzy'; try 'accelprof --help'\$" xyzzy
wrong "^accelprof: report: unknown option '--widht'; did you mean '--width'\?\$" report --widht=9 x
wrong "^accelprof: run: unknown option '--sampel'; did you mean '--sample'\?\$" run --sampel 9 x
wrong "^accelprof: run: unknown option '--xyzzy'; try 'accelprof run --help'\$" run --xyzzy x
wrong "unknown format 'jsno'; did you mean 'json'\? try 'accelprof report --help'\$" \
	report --format jsno x
wrong "unknown tool 'sumary'; did you mean 'summary'\? 'accelprof tools' lists" run -t sumary true
wrong "unknown kind 'kernle'; did you mean 'kernel'\? --record needs" run --record kernle true
wrong "has no option 'iteratons'; did you mean 'iterations'\?" \
	run -t regions --opt regions.iteratons=no true
wrong "more than one command" help run report
wrong "name one shell" completion
wrong "unknown shell 'bsh'; did you mean 'bash'\?" completion bsh

# -- Shell completion --

for shell in bash zsh fish; do
	"$ACCELPROF" completion $shell >$shell.completion || failed "completion $shell"
	if command -v $shell >/dev/null; then
		$shell -n $shell.completion || failed "completion $shell: does not parse"
	fi
	# Every option of every command is in the script.
	for command in $commands; do
		"$ACCELPROF" help "$command" | grep -oE -- '^  (-., |    )--[a-z-]+' |
			sed 's/.*--//' >options
		[ -s options ] || failed "$command has no options"
		while read -r option; do
			grep -qE -- "(--|-l )$option\b" $shell.completion ||
				failed "completion $shell: no --$option"
		done <options
	done
done

# completes WORDS... CANDIDATES - the last word of a command line has these candidates.
completes() {
	local wanted=${*: -1} got
	got=$(bash -c '
		source ./bash.completion
		COMP_WORDS=("$0" "$@")
		COMP_CWORD=$#
		_accelprof
		printf "%s\n" "${COMPREPLY[@]}" | sort | tr "\n" " " | sed "s/ *$//"' "$ACCELPROF" "${@:1:$#-1}" 2>err)
	is "completion of $*" "$got" "$wanted"
	[ ! -s err ] || failed "completion of $*: $(cat err)"
}

mkdir folder && touch trace.json
completes re report
completes "" "$(printf '%s\n' $commands --help --version | sort | tr '\n' ' ' | sed 's/ $//')"
completes report --w --width
completes report --format "" "csv folded json perfetto text"
completes run --format "" "csv folded json text"
completes report --format j json
completes report -t sum summary
completes report --tool ops,memo ops,memory
completes run --record all,kern all,kernel
completes run --level "" "count full trace"
completes run --processor g gpu
completes export --to "" sqlite
completes new-tool --lang "" "c c++"
completes report tra trace.json
completes report -o fo folder
completes import --share tra trace.json
completes import -o f folder
completes tools working_ working_set
completes help exp export
completes completion z zsh
completes doctor --f --format
completes doctor "" ""
completes report --rows "" ""
completes run -t summary -o folder -- accelprof-no-such-program ""
touch accelprof-only-here && chmod +x accelprof-only-here
completes run -q -- accelprof-only accelprof-only-here
completes run -t summary --share accelprof-only accelprof-only-here
completes run -- ls tra trace.json
completes run -t summary ls --wid ""

# -- Manual pages --

mkdir man && "$ACCELPROF" man -o man || failed "man -o"
is "pages" "$(ls man | xargs)" \
	"$(for c in '' $commands; do echo "accelprof${c:+-}$c.1"; done | LC_ALL=C sort | xargs)"
is "man" "$("$ACCELPROF" man)" "$(cat man/accelprof.1)"
is "man run" "$("$ACCELPROF" man run)" "$(cat man/accelprof-run.1)"
for page in man/*.1; do
	if command -v man >/dev/null && command -v groff >/dev/null; then
		LC_ALL=C.UTF-8 MANWIDTH=200 man --warnings -l "$page" >text 2>warnings ||
			failed "man -l $page"
		[ ! -s warnings ] || failed "$page: $(cat warnings)"
	fi
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W warning "$page" >warnings || failed "$page: $(cat warnings)"
	fi
done
# A page has the texts of the help.
if command -v man >/dev/null && command -v groff >/dev/null; then
	for command in $commands; do
		LC_ALL=C.UTF-8 MANWIDTH=1000 man -l "man/accelprof-$command.1" | tr -s ' \n' ' ' >text
		"$ACCELPROF" help "$command" | sed -n 's/^  \(-., \|    \)--[^ ]* *\([^ ]* \)\? *//p' |
			while read -r help; do
				grep -qF -- "${help: -20}" text || echo "FAILED: $command: $help"
			done >missing
		[ ! -s missing ] || failed "$(cat missing)"
	done
fi
wrong "name one command, or a folder" man run report
done_
