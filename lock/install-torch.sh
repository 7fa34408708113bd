#!/bin/sh
# Install torch without its dependencies, which are in the lock. Its builds for CPU, CUDA and ROCm
# have different hashes, so torch itself cannot be in the lock. If no build can be installed or
# loaded, the workbench works without torch, and this script says so once.
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
echo "torch 2.13.0 cannot be used here, so the extra 'neural' is missing; everything else works."
echo "On Linux without a GPU, use the CPU builds (see https://pytorch.org/get-started/locally):"
echo "    make setup TORCH_OPTIONS='--index-url ADDRESS'"
exit 0
