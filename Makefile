# `make demo` and `make test` need Python >= 3.10 (venv, pip), make and g++; everything else comes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find cpp python stubs -type f -not -name '*.pyc' -not -name '*.so')

# The tests mostly wait for interpreters that end: twice as many at a time as the smallest machine has cores.
PYTEST_ARGUMENTS ?= --numprocesses=4 --dist=worksteal

.PHONY: demo test test-runtimes sanitize lint format stubs bench docs soak sdist wheel check-wheel test-wheel nightly \
	nightly-tests nightly-arrays sanitize-asan sanitize-tsan clean

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

# Whether memory grows over a million requests, by a byte per request more than in the floor: a leak is of more.
SOAK_ARGUMENTS ?= --limit 1
soak: $(VENV)/.runtime
	$(BIN)/python -m benchmarks.soak $(SOAK_ARGUMENTS)

# What is published, in dist/: the source distribution, and from it the manylinux_2_28 wheel of this machine. Needs
# Debian's apt-get, for an older compiler, and neither root nor Docker; `make test` and its kin build a wheel of their own.
wheel: $(VENV)/.publish
	$(BIN)/python tools/release.py dist

sdist: $(VENV)/.publish
	$(BIN)/python tools/release.py --sdist dist

# The stable ABI, the platform, the size, the contents, the metadata and the source distribution of what is in dist/.
check-wheel: $(VENV)/.publish
	$(BIN)/python tools/check_wheel.py dist

# The tests with the wheel in dist/, or with WHEEL, in a fresh environment for every Python of this machine with the lowest
# numpy that works there, and in another with the newest. PYTHONS (3.10,3.13), NUMPY (lowest, newest), RUNTIMES (oldest,
# newest, or versions) and TESTS (files) choose; all of it takes hours.
test-wheel: $(VENV)/.environment
	$(BIN)/python tools/wheel_tests.py $(WHEEL) $(PYTHONS:%=--pythons=%) $(NUMPY:%=--numpy=%) $(RUNTIMES:%=--runtime=%) \
		-- $(PYTEST_ARGUMENTS) $(TESTS)

# What takes too long for every change: `make --keep-going nightly`.
nightly: sanitize nightly-arrays nightly-tests soak

# Every test with every Triton, and many examples of every property.
nightly-tests:
	$(MAKE) test-runtimes PYTEST_ARGUMENTS="$(PYTEST_ARGUMENTS) --hypothesis-profile=nightly --timeout=1800"

# Other libraries' arrays. Those libraries are large, so they have an environment of their own.
nightly-arrays: $(VENV)/.arrays
	$(VENV)/arrays/bin/python -m pytest tests/test_foreign_arrays.py -k "not cupy" -rs

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

$(VENV)/.publish: $(VENV)/.environment
	$(BIN)/python tools/requirements.py publish | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

# The wheel that is tested here, by this machine's compiler. One serves every Python; the build folder is kept, so that
# only what changed is compiled again.
$(VENV)/.wheel: $(VENV)/.environment $(SOURCES)
	rm -rf build/wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	touch $@

$(VENV)/.installed: $(VENV)/.wheel
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	touch $@

$(VENV)/.runtime: $(VENV)/.installed
	$(BIN)/python -m triton_inprocess runtime path > /dev/null 2>&1 || $(BIN)/python -m triton_inprocess runtime install
	touch $@

# The same wheel in an environment for every other Python of this machine, for the tests that start interpreters.
$(VENV)/.pythons: $(VENV)/.wheel tools/pythons.py
	$(BIN)/python tools/pythons.py $(VENV)/pythons build/wheel > $@.new
	mv $@.new $@

$(VENV)/.arrays: $(VENV)/.wheel
	$(PYTHON) -m venv $(VENV)/arrays
	$(BIN)/python tools/requirements.py dev arrays | $(VENV)/arrays/bin/python -m pip install --quiet --requirement /dev/stdin
	$(VENV)/arrays/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	touch $@
