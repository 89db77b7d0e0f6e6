# Two commands for a bare machine: make demo, make test.
#   make demo KEEP=1   shows the arm in the browser, and stays up
#   make demo URDF=arm.urdf BASE=base_link TIP=tool0   your own arm, .xacro too; BASE and TIP if not found
#   make demo URDF=arm.urdf VELOCITY=1.5 MESHES=folder PARAMS="collision.margin:=0.01 goal.max_age:=9.0"
#   make demo ROBOT=ur5e   a preset, docs/reference/robots.md; its description from IK_NODE_DESCRIPTIONS=folder
#   make test ARGS="test/solver -k bias"
#   make docs          builds the documentation site
#   make coverage      which lines the tests reach
#   make kilted        the demo and tests of each kind on ROS 2 kilted, by Python 3.12 or newer
#   make lint          style, import rules and types; make builds: what colcon and pip build of it
#   make wheel         builds the wheel, and runs it in an empty environment
#   make nightly                   everything in its long form: hours
#   make fuzz MINUTES=60           hostile numbers and descriptions; make audit: known faults of packages
PYTHON ?= python3
VENV := .venv
BUILD := .build
BIN := $(VENV)/bin
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
# Talk to this machine only, apart from whatever else runs on it.
export ROS_AUTOMATIC_DISCOVERY_RANGE := LOCALHOST
export AMENT_PREFIX_PATH := $(CURDIR)/$(VENV)
# The compiled kernels are kept in __pycache__, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test coverage nightly kilted soak lint builds lock fuzz audit docs wheel clean
demo: $(VENV)/.demo
	@$(BIN)/ik_demo $(if $(KEEP),--keep) $(if $(URDF),--urdf '$(URDF)') $(if $(ROBOT),--robot '$(ROBOT)') \
	  $(if $(BASE),--base-link '$(BASE)') $(if $(TIP),--tip-link '$(TIP)') \
	  $(if $(VELOCITY),--velocity $(VELOCITY)) $(if $(MESHES),--mesh-paths $(MESHES)) \
	  $(foreach parameter,$(PARAMS),-p '$(parameter)') $(if $(XACRO_ARGS),--xacro-args $(XACRO_ARGS))

# The tests by several processes, each in a ROS domain of its own, which wait most of the time;
# then, by fewer, those that judge motion in real time; a selection by one process.  What a selection
# names is run also if it is marked nightly.
WORKERS ?= 5
REAL_TIME_WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest
USUAL := $(if $(IK_NODE_TEST_NIGHTLY),,and not nightly)
test: $(VENV)/.test $(BUILD)/messages/.built $(BUILD)/.kernels
ifdef ARGS
	@$(PYTEST) $(ARGS)
else
	@$(PYTEST) -n $(WORKERS) --dist loadfile -m "not real_time $(USUAL)" && \
	  $(PYTEST) -n $(REAL_TIME_WORKERS) --dist loadfile -m "real_time $(USUAL)" \
	    $$(grep -l mark.real_time test/ros/test_*.py)
endif

# Messages of ROS packages that are not on PyPI; without a compiler the tests that need them are skipped.
$(BUILD)/messages/.built: scripts/build_messages.py test/interfaces.yaml $(VENV)/.test
	@echo "==> building messages that are not on PyPI, for tests, once; this takes a minute"
	@$(BIN)/python scripts/build_messages.py --prefix $(@D) || \
	  echo "tests that need them are skipped"

# The compiled kernels of the nodes, for which all tests would wait, and the modules of the tests, which
# each process would compile for itself.  What has changed since is compiled when the tests start.
$(BUILD)/.kernels: $(VENV)/.test
	@echo "==> compiling the kernels, for tests, once; this takes a minute"
	@mkdir -p $(@D)
	@$(BIN)/python test/ros/warm.py --compile
	@$(PYTEST) --collect-only -qq > /dev/null || true  # the run itself says what is wrong
	@touch $@

# Which lines of the library its tests reach; the nodes run as processes of their own and do not count.
coverage: $(VENV)/.test
	@$(PYTEST) -n 2 --dist loadfile --ignore test/ros --cov=ik_node --cov-report=term:skip-covered \
	  --cov-report=xml:.build/coverage.xml test

# All tests, with more samples, ten times as many mutants of descriptions; a million hostile calls; the soak.
nightly: $(VENV)/.test
	@IK_NODE_TEST_NIGHTLY=1 PYTEST_ADDOPTS="-o faulthandler_timeout=0" $(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory lint builds kilted fuzz soak

# Two arms under load, then a thousand lives: each goal has one answer, and nothing grows.
SOAK_MINUTES ?= 30
soak: $(VENV)/.test
	@$(BIN)/python -m benchmarks.soak --minutes $(SOAK_MINUTES) --json soak.json
	@IK_NODE_TEST_CYCLES=1000 $(BIN)/python -m pytest -o faulthandler_timeout=0 -s test/ros/test_lifecycle.py \
	  -k many_lives

# The demo, and tests of each kind, on the other distribution of ROS 2 that is on PyPI.
KILTED_PYTHON ?= $(shell for name in python3.12 python3.13 python3.14; do $$name -c '' 2> /dev/null && echo $$name && break; done)
KILTED_TESTS := goals action_servers client collisions parameters lifecycle arms moveit_motion jog doctor \
  teach markers viewer_goals
kilted:
ifeq ($(KILTED_PYTHON),)
	@echo "there is no Python 3.12 or newer: not tried on ROS 2 kilted"
else
	@$(MAKE) --no-print-directory VENV=.venv-kilted BUILD=.build/kilted PYTHON=$(KILTED_PYTHON) \
	  ROS_PINS=requirements/kilted.txt IK_NODE_TEST_MESSAGES=.build/kilted/messages \
	  demo test ARGS="-n 2 --dist loadfile $(KILTED_TESTS:%=test/ros/test_%.py)"
endif

lint: $(VENV)/.test
	@$(BIN)/ruff check . && $(BIN)/lint-imports && $(BIN)/python scripts/check_builds.py types

# What colcon and pip build of the source, by its files and executables.
builds: $(VENV)/.test
	@$(BIN)/python scripts/check_builds.py builds

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "ik_node needs Python 3.10 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@echo "==> making the Python environment $(VENV)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python3-venv is missing: apt install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.demo: requirements/demo.txt setup.py | $(VENV)/bin/python
	$(call install,demo,about 350 MB)
$(VENV)/.test: requirements/test.txt setup.py $(VENV)/.demo | $(VENV)/bin/python
	$(call install,test,about 400 MB more)

# Everything is pinned, and installed without a second look when it is there already.  ROS_PINS are of
# another distribution.
define install
	@echo "==> installing what requirements/$(1).txt pins, $(2), once; this takes a minute or two"
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	  -r $(if $(ROS_PINS),<(grep -v ^ros- requirements/$(1).txt) -r $(ROS_PINS),requirements/$(1).txt) | awk '/^Collecting/ {n++; printf "\r    %d packages", n; fflush()} \
	  /^Installing/ {printf "\n    unpacking\n"; fflush()}'
	@echo "==> installing ik_node itself"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps \
	  --no-build-isolation --editable .
	@touch $@
endef

# Needs uv (pip install uv): renews the pins.
lock:
	for set in demo test docs; do uv pip compile --universal --python-version 3.10 --no-header \
	  --no-annotate --no-emit-index-url --quiet --upgrade requirements/$$set.in \
	  -o requirements/$$set.txt; done
	grep -v ^ros- requirements/test.txt > .build/others.txt
	uv pip compile --universal --python-version 3.12 --no-header --no-annotate --no-emit-index-url \
	  --quiet --upgrade -c .build/others.txt requirements/kilted.in | grep ^ros- > requirements/kilted.txt

# A million hostile calls of the solver, then what reads descriptions, guided by coverage.
MINUTES ?= 15
fuzz: $(VENV)/.test
	@PYTHONPATH=.:test $(BIN)/python -m fuzz.hostile 1000000
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/fuzz.txt || \
	  echo "atheris has no wheel for this Python or machine"
	@PYTHONPATH=.:test $(BIN)/python -m fuzz.guided $$(($(MINUTES) * 60)) $(VENV)/corpus/inputs

# The documentation site, .build/site/index.html.  Needs neither ROS nor ik_node installed.
docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "see .build/site/index.html"

$(VENV)/.docs: requirements/docs.txt | $(VENV)/bin/python
	@echo "==> installing what requirements/docs.txt pins, about 80 MB, once"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements/docs.txt
	@touch $@

# Asks the advisories of PyPI, so it needs the internet.
audit: $(VENV)/bin/python
	@$(PYTHON) -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	@for set in demo test docs fuzz; do $(VENV)/audit/bin/pip-audit --strict --no-deps --disable-pip \
	  -r requirements/$$set.txt || exit 1; done

# Both archives of a release in dist; the wheel is made from the source archive, so that this is whole.
wheel: $(VENV)/bin/python
	@rm -rf dist
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build==1.6.1
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/python scripts/check_wheel.py dist/*.whl

clean:
	rm -rf $(VENV) .venv-kilted .build build dist install log *.egg-info
