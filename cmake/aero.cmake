# SPDX-License-Identifier: Apache-2.0
# Flags and the two functions that every folder uses.

add_library(aero_flags INTERFACE)
target_compile_definitions(aero_flags INTERFACE
  _GNU_SOURCE AERO_VERSION="${PROJECT_VERSION}")
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

# aero_library(TARGET TYPE): the objects of all layers of the client as one library, of which
# only <aeroloop/...> is visible to those who link it.
function(aero_library target type)
  set(objects "")
  foreach(layer base wire column loop cluster command client)
    list(APPEND objects $<TARGET_OBJECTS:aero_${layer}>)
  endforeach()
  add_library(${target} ${type} EXCLUDE_FROM_ALL ${objects})
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE PkgConfig::UV Threads::Threads)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  if(AERO_SANITIZE)
    target_link_options(${target} PUBLIC -fsanitize=${AERO_SANITIZE})
  endif()
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
  add_dependencies(aero_all_tests ${target})
endfunction()

# What `check` builds before it runs ctest.
add_custom_target(aero_all_tests)

# Folders that appear with a later part of the work.
macro(aero_subdirectory folder)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  endif()
endmacro()
