# SPDX-License-Identifier: Apache-2.0
# Language standard, warnings, sanitizers: the same for every target of the project.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3 -g -DNDEBUG")

add_library(trigd_options INTERFACE)
target_compile_options(trigd_options INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
        -Wmissing-prototypes -Werror -ffp-contract=off>
    # cutting text to the room there is, is what snprintf and strncpy are used for here
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-format-truncation -Wno-stringop-truncation>)
target_compile_definitions(trigd_options INTERFACE _GNU_SOURCE)
target_include_directories(trigd_options INTERFACE ${CMAKE_SOURCE_DIR}/include
    ${CMAKE_BINARY_DIR}/include)
if(TRIGD_SANITIZE)
    add_compile_options(-fsanitize=${TRIGD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        -fno-optimize-sibling-calls)
    add_link_options(-fsanitize=${TRIGD_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND TRIGD_SANITIZE MATCHES "address" AND NOT TRIGD_FUZZ)
        # as a library, so that tests can load one in front of it whose calls fail
        execute_process(COMMAND ${CMAKE_C_COMPILER} --print-runtime-dir OUTPUT_VARIABLE runtime
            OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        add_link_options(-shared-libasan -Wl,-rpath,${runtime})
    endif()
    # gcc guesses wrongly in instrumented code; the other builds keep the warning
    target_compile_options(trigd_options INTERFACE $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-maybe-uninitialized>)
endif()
