# Short commands for common tasks. CMakeLists.txt has the build; scripts/ has the rest.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export JOBS

# In CI warnings are errors; elsewhere use `make PASTA_WERROR=ON`. The build tree remembers it.
ifneq ($(CI),)
PASTA_WERROR ?= ON
endif
CONFIGURE = cmake --preset default $(if $(PASTA_WERROR),-DPASTA_WERROR=$(PASTA_WERROR))
BUILD = cmake --build build -j $(JOBS)

.PHONY: all configure tools demo check check-long check-gpu bench bench-gpu install format lint \
	clean help

all: configure
	@$(BUILD)

# Show the log only if configuring fails.
configure: tools
	@log=$$(mktemp); if $(CONFIGURE) >$$log 2>&1; then rm -f $$log; \
		else cat $$log >&2; rm -f $$log; exit 1; fi

tools:
	@for tool in cmake ninja cc; do \
		command -v $$tool >/dev/null || { \
			echo "$$tool is missing: run scripts/bootstrap" >&2; exit 1; }; \
	done

demo:
	@scripts/bootstrap demo
	@$(MAKE) --no-print-directory configure
	@$(BUILD) --target accelprof pasta-agent
	@scripts/demo

check:
	@scripts/check

check-long:
	@scripts/check long

check-gpu:
	@scripts/check gpu

bench: all
	@scripts/bench

bench-gpu: all
	@scripts/bench gpu

install: all
	@cmake --install build --prefix "$(PREFIX)"

format:
	@scripts/lint fix

lint: configure
	@scripts/lint

clean:
	rm -rf build build-asan build-tsan build-fuzz

help:
	@echo 'make             build accelprof and its libraries into build/'
	@echo 'make demo        record two programs and show what was found'
	@echo 'make check       tests, sanitizers, fuzzers and linters, which every change must pass'
	@echo 'make check-long  the tests that take minutes'
	@echo 'make check-gpu   the tests that need a GPU'
	@echo 'make bench       benchmarks; bench-gpu for those that need a GPU'
	@echo 'make install     install into PREFIX ($(PREFIX)), below DESTDIR if that is set'
	@echo 'make format      format the sources; make lint runs the linters'
	@echo 'make clean       remove the build trees'
	@echo 'scripts/bootstrap [build|demo|check|long] installs the required packages'
