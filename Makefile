# `make demo` and `make test` need Python >= 3.10 (venv, pip), make and g++; everything else comes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find cpp python stubs -type f -not -name '*.pyc' -not -name '*.so')

# The tests mostly wait for interpreters that end: twice as many at a time as the smallest machine has cores.
PYTEST_ARGUMENTS ?= --numprocesses=4 --dist=worksteal

.PHONY: demo test test-runtimes sanitize lint format stubs bench docs wheel clean

demo: $(VENV)/.runtime
	$(BIN)/python -m triton_inprocess demo

test: $(VENV)/.runtime $(VENV)/.pythons
	TRITON_INPROCESS_TEST_PYTHONS=$$(cat $(VENV)/.pythons) $(BIN)/python -m pytest $(PYTEST_ARGUMENTS)

# The tests once with each Triton that is supported, or with those of RUNTIMES: versions of nvidia-pytriton, oldest,
# newest. What is not there is fetched; the newest alone runs with every Python of this machine.
test-runtimes: $(VENV)/.runtime $(VENV)/.pythons
	TRITON_INPROCESS_TEST_PYTHONS=$$(cat $(VENV)/.pythons) $(BIN)/python tools/runtimes.py $(RUNTIMES) -- $(PYTEST_ARGUMENTS)

# The C++ tests and the floor program against the fake libtritonserver of tests/, under sanitizers: memory and undefined
# behaviour in one build, threads in another. The first report ends it. Needs GoogleTest (Debian's libgtest-dev).
sanitize: sanitize-asan sanitize-tsan

SANITIZERS_asan := address,undefined
SANITIZERS_tsan := thread
sanitize-asan sanitize-tsan: sanitize-%: $(VENV)/.environment
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/$* -G Ninja -DCMAKE_BUILD_TYPE=None \
		-DTRITON_INPROCESS_MODULE=OFF -DTRITON_INPROCESS_CPP_TESTS=ON -DTRITON_INPROCESS_BENCHMARKS=ON \
		-DTRITON_INPROCESS_WERROR=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
		-DCMAKE_CXX_FLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=$(SANITIZERS_$*) -fno-sanitize-recover=all"
	$(BIN)/cmake --build build/$* --target cpp_tests
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1 \
	UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
		$(BIN)/ctest --test-dir build/$* --output-on-failure --no-tests=error

bench: $(VENV)/.runtime
	$(BIN)/python -m benchmarks $(BENCHMARK_ARGUMENTS)

# Formatters, linters and type checkers; nothing is changed.
lint: $(VENV)/.lint $(VENV)/.installed
	$(BIN)/python tools/lint.py

format: $(VENV)/.lint
	$(BIN)/python tools/lint.py --fix

# The generated type stubs, which are checked in.
stubs: $(VENV)/.installed
	$(BIN)/python tools/stubs.py

# The pages of docs/ with the reference, as a site in build/site; a warning is an error. Nothing is imported or run.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(VENV)/.wheel

clean:
	rm -rf $(VENV) build dist

$(VENV)/.environment: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py build dev | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

$(VENV)/.lint: $(VENV)/.environment
	$(BIN)/python tools/requirements.py lint docs | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

$(VENV)/.docs: $(VENV)/.environment
	$(BIN)/python tools/requirements.py docs | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

# One wheel serves every Python; the build folder is kept, so that only what changed is compiled again.
$(VENV)/.wheel: $(VENV)/.environment $(SOURCES)
	rm -rf dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	touch $@

$(VENV)/.installed: $(VENV)/.wheel
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	touch $@

$(VENV)/.runtime: $(VENV)/.installed
	$(BIN)/python -m triton_inprocess runtime path > /dev/null 2>&1 || $(BIN)/python -m triton_inprocess runtime install
	touch $@

# The same wheel in an environment for every other Python of this machine, for the tests that start interpreters.
$(VENV)/.pythons: $(VENV)/.wheel tools/pythons.py
	$(BIN)/python tools/pythons.py $(VENV)/pythons dist > $@.new
	mv $@.new $@
