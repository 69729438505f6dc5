# SPDX-License-Identifier: Apache-2.0
# Flags and the two functions that every folder uses.

add_library(aero_flags INTERFACE)
target_compile_definitions(aero_flags INTERFACE _GNU_SOURCE)
target_compile_options(aero_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wvla)
if(AERO_WERROR)
  target_compile_options(aero_flags INTERFACE -Werror)
endif()
if(AERO_SANITIZE)
  target_compile_options(aero_flags INTERFACE
    -fsanitize=${AERO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(aero_flags INTERFACE -fsanitize=${AERO_SANITIZE})
endif()
if(AERO_FUZZ)
  target_compile_options(aero_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(aero_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include)

# aero_layer(NAME FILES... DEPENDS layer...): one folder of src/ as a static library. A layer
# sees the headers of src/ and links only to the layers that it names.
function(aero_layer name)
  cmake_parse_arguments(ARG "" "" "FILES;DEPENDS" ${ARGN})
  add_library(aero_${name} STATIC ${ARG_FILES})
  target_include_directories(aero_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(aero_${name} PUBLIC aero_flags)
  foreach(layer IN LISTS ARG_DEPENDS)
    target_link_libraries(aero_${name} PUBLIC aero_${layer})
  endforeach()
endfunction()

# aero_test(FOLDER/NAME layer...): tests/c/FOLDER/NAME_test.c as one cmocka program, linked to
# the given layers. The only place where a C test is registered.
function(aero_test path)
  string(REPLACE "/" "_" target "${path}_test")
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/c/${path}_test.c)
  target_link_libraries(${target} PRIVATE aero_test_support)
  foreach(layer IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE aero_${layer})
  endforeach()
  target_compile_definitions(${target} PRIVATE
    AERO_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  add_test(NAME ${path} COMMAND ${target})
  set_tests_properties(${path} PROPERTIES TIMEOUT 300)
endfunction()
