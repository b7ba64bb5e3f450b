#!/usr/bin/env bash
# Compares results on aarch64 with those here, to the bit: bash tests/processors/aarch64.sh FOLDER [NAME …]
# Arguments after the folder are those of digests.py; by default the random operators. Runs as root on Debian, whose
# qemu-user and Python of arm64 it takes, and wheels for aarch64 by pip. A kernel compiles for some 20 s there.
set -eu
cd "$(dirname "$0")/../.."
project="$PWD"
folder="$(mkdir -p "$1" && cd "$1" && pwd)"
shift
[ $# -gt 0 ] || set -- random noise. --first 3

if [ ! -e "$folder/ready" ]; then
  apt-get install -y -qq qemu-user-static >/dev/null
  dpkg --add-architecture arm64
  apt-get update -qq
  mkdir -p "$folder/packages" "$folder/root" "$folder/home"
  (cd "$folder/packages" && apt-get download -qq $(printf '%s:arm64 ' python3.11 python3.11-minimal libpython3.11-minimal \
    libpython3.11-stdlib libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 \
    libuuid1))
  dpkg --remove-architecture arm64
  for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  platforms="$(printf -- '--platform manylinux%s_aarch64 ' 2014 _2_17 _2_26 _2_27 _2_28 _2_31)"
  # shellcheck disable=SC2086
  python -m pip install -q --no-compile --target "$folder/site" --python-version 3.11 --only-binary=:all: $platforms \
    -c constraints.txt graphviz lmdb msgspec numba numpy pillow protobuf simplejpeg soundfile \
    imagecodecs opencv-python-headless av
  touch "$folder/ready"
fi

PYTHONPATH="$project" DALI_LAB_COMPILE=at-once python -m tests.processors.digests "$@" >"$folder/here.txt"
libraries="$folder/root/usr/lib/aarch64-linux-gnu:$folder/root/lib/aarch64-linux-gnu"
HOME="$folder/home" PYTHONPATH="$project:$folder/site" QEMU_LD_PREFIX="$folder/root" DALI_LAB_COMPILE=at-once \
  qemu-aarch64-static -E LD_LIBRARY_PATH="$libraries" "$folder/root/usr/bin/python3.11" -S \
  -m tests.processors.digests "$@" >"$folder/there.txt"
python -m tests.processors.digests --compare "$folder/here.txt" "$folder/there.txt"
