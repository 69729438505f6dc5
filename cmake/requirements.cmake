# SPDX-License-Identifier: Apache-2.0
# What the machine must have. All that is missing is named at once, by the name of the
# Debian package, since `pip install .` on a bare machine shows nothing but this text.
set(aero_missing "")

include(CheckLanguage)
check_language(C)
if(CMAKE_C_COMPILER)
  enable_language(C)
else()
  list(APPEND aero_missing gcc libc6-dev)
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(UV QUIET IMPORTED_TARGET GLOBAL libuv>=1.42)
  pkg_check_modules(YAML QUIET IMPORTED_TARGET GLOBAL yaml-0.1)
  if(AERO_TESTS)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET GLOBAL cmocka>=1.1.5)
  endif()
else()
  list(APPEND aero_missing pkg-config)
endif()
if(NOT UV_FOUND)
  list(APPEND aero_missing libuv1-dev)
endif()
if(NOT YAML_FOUND)
  list(APPEND aero_missing libyaml-dev)
endif()
if(AERO_TESTS AND NOT CMOCKA_FOUND)
  list(APPEND aero_missing libcmocka-dev)
endif()

if(AERO_PYTHON)
  # Asked of the interpreter: find_package looks for headers only with a compiler.
  find_package(Python 3.10 QUIET COMPONENTS Interpreter)
  if(Python_FOUND)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
        "import sysconfig; print(sysconfig.get_paths()['include'], end='')"
      OUTPUT_VARIABLE aero_python_include)
  endif()
  if(NOT EXISTS "${aero_python_include}/Python.h")
    list(APPEND aero_missing python3-dev)
  endif()
endif()

if(aero_missing)
  list(JOIN aero_missing " " aero_missing)
  message(FATAL_ERROR
    "aeroloop cannot be built: this machine lacks packages. On Debian or Ubuntu:\n"
    "  apt-get install ${aero_missing}\n"
    "Elsewhere: a C compiler, pkg-config, libuv 1.42 or newer and libyaml with "
    "their headers, cmocka for the tests, and the headers of CPython 3.10 or newer for the extension.")
endif()
