#!/bin/sh
# Install torch without its dependencies (they are in the lock): its builds for CPU, CUDA and
# ROCm differ in hash, so it cannot be in the lock itself. Where no build can be had or the one
# that came does not load, the workbench works without it, and says so here once.
#
#   lock/install-torch.sh PYTHON [PIP OPTION]...
set -u
python=$1
shift
if "$python" -c 'import sys, torch; sys.exit(not torch.__version__.startswith("2.13.0"))' 2>/dev/null; then
    exit 0
fi
if "$python" -m pip install --quiet --no-deps "$@" torch==2.13.0; then
    if "$python" -W ignore -c 'import torch' 2>/dev/null; then
        exit 0
    fi
    "$python" -m pip uninstall --quiet --yes torch
fi
echo "torch 2.13.0 is not usable here, so the extra 'neural' is left out; all else works."
echo "On Linux without a GPU, name the CPU builds (see https://pytorch.org/get-started/locally):"
echo "    make setup TORCH_OPTIONS='--index-url ADDRESS'"
exit 0
