#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes this machine able to build: bootstrap.sh GROUP...
#
# Groups are those of pyproject.toml (test, lint, demo, bench) and `fuzz`. What is there already
# is not touched: system packages are looked for by what they provide, not by name, and are
# installed (apt-get, with sudo when not root) only when something is missing. Python packages go
# to a private .venv. Nothing is asked of the network when nothing is missing.
source "$(dirname "$0")/common.sh"

cmake_min=3.24
python_min=3.10
pip_version=26.3 # `pip install --group` needs 25.1

runs() { # TOOL: present, and not a shim that leads nowhere
    "$1" --version >/dev/null 2>&1
}

version_at_least() { # HAVE WANT
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

compiles_c() {
    echo '#include <stdio.h>' | cc -c -x c - -o /dev/null >/dev/null 2>&1
}

# Old enough, with its headers, able to make an environment.
python_is_usable() {
    "$1" - "$python_min" >/dev/null 2>&1 <<'PYTHON'
import ensurepip, os, sys, sysconfig, venv
minimum = tuple(int(part) for part in sys.argv[1].split("."))
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(sys.version_info < minimum or not os.path.exists(header))
PYTHON
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 /usr/bin/python3 \
        python3.13 python3.12 python3.11 python3.10; do
        if python_is_usable "$candidate"; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return 0
        fi
    done
    return 1
}

# Prints the Debian packages that would bring what is missing, one a line.
missing_packages() {
    local group
    compiles_c || printf '%s\n' gcc libc6-dev
    runs ninja || echo ninja-build
    runs cmake || echo cmake
    runs pkg-config || echo pkg-config
    if ! { runs pkg-config && pkg-config --exists 'libuv >= 1.42'; }; then
        echo libuv1-dev
    fi
    if ! { runs pkg-config && pkg-config --exists yaml-0.1; }; then
        echo libyaml-dev
    fi
    find_python >/dev/null || printf '%s\n' python3 python3-dev python3-venv
    for group in "$@"; do
        case $group in
        test)
            runs c++ || echo g++ # the public headers must suit C++ too
            if ! { runs pkg-config && pkg-config --exists 'cmocka >= 1.1.5'; }; then
                echo libcmocka-dev
            fi
            ;;
        fuzz) find_clang >/dev/null || printf '%s\n' clang libclang-rt-dev ;;
        esac
    done
}

install_system_packages() {
    local missing=$1 sudo=()
    if ! command -v apt-get >/dev/null; then
        die "there is no apt-get here; please install what these Debian packages hold:" $missing
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "there is no sudo here; as root, please: apt-get install $missing"
        sudo=(sudo)
    fi
    say "Installing system packages:" $missing
    "${sudo[@]}" apt-get update -qq
    # Releases that lack this package have its files in another one, that clang brings.
    if ! apt-cache show libclang-rt-dev >/dev/null 2>&1; then
        missing=${missing//libclang-rt-dev/}
    fi
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends $missing >/dev/null
}

# The hash changes with the pins and with the interpreter; then the group is installed again.
group_stamp() {
    { cat pyproject.toml; echo "$1"; "$venv_python" -VV; } | cksum | tr ' ' -
}

install_group() {
    local group=$1 file=$venv/.installed-$1 stamp
    stamp=$(group_stamp "$group")
    if [ "$(cat "$file" 2>/dev/null)" != "$stamp" ]; then
        say "Installing the Python packages of group '$group'"
        "$venv_python" -m pip install --quiet --disable-pip-version-check --group "$group"
        echo "$stamp" >"$file"
    fi
}

main() {
    local missing python group
    missing=$(missing_packages "$@" | sort -u | tr '\n' ' ')
    if [ -n "$missing" ]; then
        install_system_packages "$missing"
        missing=$(missing_packages "$@" | sort -u | tr '\n' ' ')
        [ -z "$missing" ] || die "still missing after the installation: $missing"
    fi

    # The file is the last step's: an interrupted run begins anew.
    if ! { [ -f "$venv/.complete" ] && "$venv_python" -c 'import pip' 2>/dev/null; }; then
        python=$(find_python)
        say "Making $venv with $("$python" -V)"
        "$python" -m venv --clear "$venv"
        "$venv_python" -m pip install --quiet --disable-pip-version-check "pip==$pip_version"
        touch "$venv/.complete"
    fi
    install_group build
    # Older distributions: a newer cmake goes into the private environment.
    if ! version_at_least "$(cmake --version | sed -n 's/^cmake version //p')" "$cmake_min"; then
        say "Installing cmake $cmake_min or newer into $venv"
        "$venv_python" -m pip install --quiet --disable-pip-version-check "cmake>=$cmake_min"
    fi
    for group in "$@"; do
        [ "$group" = fuzz ] || install_group "$group"
    done
}

main "$@"
