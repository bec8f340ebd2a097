# SPDX-License-Identifier: Apache-2.0
# trg_add_plugin(NAME [SOURCES more.c ...] [KERNELS file.kernel.c ...] [COLLECTIONS file.yaml ...])
#     builds NAME.c, and NAME.kernel.c where it exists, to the plugin NAME.so.  Its declarations of collections
#     become the header NAME.collections.h, for its code and its kernels.
# trg_add_plugin_test(NAME test.c [SOURCES more.c ...] [ARGS arg ...])
#     a program that tests the plugin NAME through trigd/testing.h, as the ctest NAME.plugin.  Its arguments are the
#     plugin's file and ARGS.
# trg_add_kernels(TARGET FILE.kernel.c)
#     adds the kernels of a file to a target in all forms: for the host (one build for each level of
#     the instruction set), as a CUDA fat binary where nvcc is, as OpenCL C text.  The target may
#     include "FILE.program.h", which declares `extern const struct trg_program FILE_program`.
#     The OpenCL text is also compiled while building, where the machine has an OpenCL platform, unless
#     TRIGD_COMPILE_OPENCL is OFF.
#     They are built once, where a file is named first; other targets link the same objects.
#
# Works in this project and, from the installed package, out of tree.  Fat binaries are made for
# CMAKE_CUDA_ARCHITECTURES or, where that is not set, for all chips in TRIGD_CUDA_DEFAULT that nvcc
# knows; in both cases with PTX of the newest, which later chips compile themselves.
include(CheckCCompilerFlag)
include(GNUInstallDirs)
enable_language(ASM)
set(TRIGD_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(TRIGD_CUDA_DEFAULT 75 80 86 89 90 100 120)
set(TRIGD_KERNEL_OPTIMIZE -O3 CACHE STRING "How kernels for the host are optimized, in every type of build")
set(TRIGD_KERNEL_LEVELS 3 4 CACHE STRING "Levels of x86-64 that kernels for the host are built for, beside the baseline")
include(${CMAKE_CURRENT_LIST_DIR}/TrigdCollections.cmake)
if(NOT TRIGD_INCLUDE_DIR)
    set(TRIGD_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../include ${CMAKE_BINARY_DIR}/include)
endif()
option(TRIGD_COMPILE_OPENCL "Compile OpenCL text while building, where a platform is" ON)
find_program(TRIGD_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    check_c_compiler_flag(-march=x86-64-v3 TRIGD_HAS_V3)
    check_c_compiler_flag(-march=x86-64-v4 TRIGD_HAS_V4)
endif()

# What nvcc is told about chips.
function(trg_cuda_targets out)
    set(archs ${CMAKE_CUDA_ARCHITECTURES})
    if(archs MATCHES "^(all|all-major|native)$")
        set(${out} -arch=${archs} PARENT_SCOPE)
        return()
    endif()
    if(NOT archs)
        execute_process(COMMAND ${TRIGD_NVCC} --list-gpu-code OUTPUT_VARIABLE known
            COMMAND_ERROR_IS_FATAL ANY)
        foreach(a ${TRIGD_CUDA_DEFAULT})
            if(known MATCHES "sm_${a}[^0-9]")
                list(APPEND archs ${a})
            endif()
        endforeach()
    endif()
    list(TRANSFORM archs REPLACE "-real$" "")
    list(REMOVE_DUPLICATES archs)
    list(SORT archs COMPARE NATURAL)
    set(flags "")
    foreach(a ${archs})
        string(REGEX REPLACE "-virtual$" "" newest ${a})
        if(newest STREQUAL a)
            list(APPEND flags -gencode=arch=compute_${a},code=sm_${a})
        else() # no machine code, which takes most of the time
            list(APPEND flags -gencode=arch=compute_${newest},code=compute_${newest})
        endif()
    endforeach()
    list(APPEND flags -gencode=arch=compute_${newest},code=compute_${newest})
    list(REMOVE_DUPLICATES flags)
    set(${out} ${flags} PARENT_SCOPE)
endfunction()

# One build of the kernels for the host: a file of its own, in which all of them are static.
function(trg_host_variant target name file kernels variant march)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.host-${variant}.c)
    set(table ${name}_host_${variant})
    set(text "#include \"${file}\"\nextern const struct trg_host_entry ${table}[];\n")
    string(APPEND text "const struct trg_host_entry ${table}[] = {\n")
    foreach(k ${kernels})
        string(REGEX REPLACE "TRG_KERNEL([1-8])\\(.*" "\\1" n_buffers ${k})
        string(REGEX REPLACE "TRG_KERNEL[1-8]\\(" "" k ${k})
        string(APPEND text "    {\"${k}\", ${k}, ${n_buffers}, ${k}_value_bytes_},\n")
    endforeach()
    string(APPEND text "    {0, 0, 0, 0}};\n")
    file(GENERATE OUTPUT ${source} CONTENT "${text}")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "${TRIGD_KERNEL_OPTIMIZE};-ffp-contract=off;-fno-math-errno;${march}" OBJECT_DEPENDS ${file})
    target_sources(${target} PRIVATE ${source})
endfunction()

# Assembly that holds a file as the bytes of a symbol, with a zero after them.
function(trg_embed out symbol)
    set(text ".balign 16\n.global ${symbol}\n.hidden ${symbol}\n${symbol}:\n")
    foreach(file ${ARGN})
        string(APPEND text ".incbin \"${file}\"\n")
    endforeach()
    string(APPEND text ".byte 0\n")
    set(${out} "${${out}}${text}" PARENT_SCOPE)
endfunction()

function(trg_add_kernels target file)
    get_filename_component(file ${file} REALPATH)
    file(RELATIVE_PATH objects ${CMAKE_SOURCE_DIR} ${file})
    string(MAKE_C_IDENTIFIER kernels_${objects} objects)
    if(NOT TARGET ${objects})
        trg_build_kernels(${objects} ${file})
    endif()
    get_target_property(folder ${objects} BINARY_DIR)
    get_filename_component(source ${file} DIRECTORY)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    target_include_directories(${target} PRIVATE ${folder} ${TRIGD_INCLUDE_DIR} ${source})
endfunction()

# The library of objects with the kernels of a file.
function(trg_build_kernels target file)
    trg_find_python()
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(name ${file} NAME)
    string(REPLACE ".kernel.c" "" name ${name})
    set(base ${CMAKE_CURRENT_BINARY_DIR}/${name})
    add_library(${target} OBJECT)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden C_STANDARD 17 POSITION_INDEPENDENT_CODE ON)
    if(TARGET trigd_options)
        target_link_libraries(${target} PRIVATE trigd_options)
    endif()

    # the kernels are found by reading the file: it is configured again when it changes
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX MATCHALL "TRG_KERNEL[1-8]\\([a-zA-Z0-9_]+" kernels "${text}")
    if(NOT kernels)
        message(FATAL_ERROR "${file} has no kernel: none of TRG_KERNEL1 to TRG_KERNEL8 is in it")
    endif()

    set(variants base)
    trg_host_variant(${target} ${name} ${file} "${kernels}" base "")
    foreach(v ${TRIGD_KERNEL_LEVELS})
        if(TRIGD_HAS_V${v})
            trg_host_variant(${target} ${name} ${file} "${kernels}" v${v} -march=x86-64-v${v})
            list(PREPEND variants v${v})
        endif()
    endforeach()

    set(folders ${TRIGD_INCLUDE_DIR} ${folder} ${CMAKE_CURRENT_BINARY_DIR})
    add_custom_command(OUTPUT ${base}.cl
        COMMAND ${TRIGD_PYTHON} ${TRIGD_CMAKE_DIR}/trg_kernel.py $<$<BOOL:${TRIGD_COMPILE_OPENCL}>:--compile>
            ${file} ${base}.cl ${folders}
        DEPENDS ${file} ${TRIGD_CMAKE_DIR}/trg_kernel.py DEPFILE ${base}.cl.d COMMAND_EXPAND_LISTS VERBATIM)
    set(embedded ${base}.cl)
    set(asm ".section .rodata\n")
    trg_embed(asm ${name}_opencl ${base}.cl)
    set(externs "extern const char ${name}_opencl[];\n")
    set(fatbin 0)
    if(TRIGD_CUDA AND TRIGD_NVCC)
        list(TRANSFORM folders PREPEND -I)
        trg_cuda_targets(chips)
        add_custom_command(OUTPUT ${base}.fatbin
            COMMAND ${TRIGD_NVCC} -fatbin -x cu -O3 --fmad=false -std=c++17 -Wno-deprecated-gpu-targets
                ${folders} ${chips} ${file} -o ${base}.fatbin
            DEPENDS ${file} ${base}.cl) # which has all that is included
        list(APPEND embedded ${base}.fatbin)
        trg_embed(asm ${name}_fatbin ${base}.fatbin)
        string(APPEND externs "extern const unsigned char ${name}_fatbin[];\n")
        set(fatbin ${name}_fatbin)
    endif()
    string(APPEND asm ".section .note.GNU-stack,\"\",%progbits\n")
    file(GENERATE OUTPUT ${base}.embed.S CONTENT "${asm}")
    set_source_files_properties(${base}.embed.S PROPERTIES OBJECT_DEPENDS "${embedded}")

    set(isa_base "")
    set(isa_v3 x86-64-v3)
    set(isa_v4 x86-64-v4)
    set(list "")
    foreach(v ${variants})
        string(APPEND externs "extern const struct trg_host_entry ${name}_host_${v}[];\n")
        string(APPEND list "    {\"${isa_${v}}\", ${name}_host_${v}},\n")
    endforeach()
    file(GENERATE OUTPUT ${base}.program.c CONTENT "/* generated */
#include \"${name}.program.h\"
${externs}static const struct trg_host_code host[] = {
${list}    {0, 0}};
const struct trg_program ${name}_program = {
    .name = \"${name}\", .host = host, .fatbin = ${fatbin}, .opencl = ${name}_opencl};
")
    file(GENERATE OUTPUT ${base}.program.h CONTENT "/* generated */
#pragma once
#include \"trigd/device.h\"
extern const struct trg_program ${name}_program;
")
    target_sources(${target} PRIVATE ${base}.program.c ${base}.embed.S)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${TRIGD_INCLUDE_DIR}
        ${folder})
endfunction()

# How an author's C code is compiled: as this project's, or out of tree with warnings and, without a build type, -O2.
function(trg_author_options target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>)
    if(TARGET trigd_options)
        target_link_libraries(${target} PRIVATE trigd_options)
    else()
        target_compile_options(${target} PRIVATE
            $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes>)
        if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-O2>)
        endif()
    endif()
endfunction()

function(trg_add_plugin name)
    cmake_parse_arguments(P "" "" "SOURCES;KERNELS;COLLECTIONS" ${ARGN})
    add_library(${name} MODULE ${name}.c ${P_SOURCES})
    if(NOT TRIGD_PLUGIN_OUTPUT)
        set(TRIGD_PLUGIN_OUTPUT ${CMAKE_BINARY_DIR}/plugins)
    endif()
    set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden C_STANDARD 17
        LIBRARY_OUTPUT_DIRECTORY ${TRIGD_PLUGIN_OUTPUT})
    target_include_directories(${name} PRIVATE ${TRIGD_INCLUDE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    if(P_COLLECTIONS)
        trg_declare(${CMAKE_CURRENT_BINARY_DIR}/${name}.collections.h ${P_COLLECTIONS})
    endif()
    trg_author_options(${name})
    target_link_libraries(${name} PRIVATE m)
    target_link_options(${name} PRIVATE -Wl,-z,now -Wl,-z,relro)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.kernel.c)
        list(PREPEND P_KERNELS ${name}.kernel.c)
        list(REMOVE_DUPLICATES P_KERNELS)
    endif()
    foreach(file ${P_KERNELS})
        trg_add_kernels(${name} ${file})
    endforeach()
    if(NOT TRIGD_PLUGIN_STAYS) # the tutorial's are not installed
        install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/trigd/plugins
            COMPONENT trigd-plugins)
    endif()
endfunction()

function(trg_add_plugin_test name file)
    if(DEFINED TRIGD_TESTS AND NOT TRIGD_TESTS)
        return()
    endif()
    cmake_parse_arguments(T "" "" "SOURCES;ARGS" ${ARGN})
    add_executable(test_plugin_${name} ${file} ${T_SOURCES})
    set_target_properties(test_plugin_${name} PROPERTIES C_STANDARD 17)
    trg_author_options(test_plugin_${name})
    target_include_directories(test_plugin_${name} PRIVATE ${TRIGD_INCLUDE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(test_plugin_${name} PRIVATE trigd::testing m)
    add_dependencies(test_plugin_${name} ${name})
    if(COMMAND trg_needs)
        trg_needs(test_plugin_${name} backends)
        add_dependencies(tests test_plugin_${name})
    endif()
    add_test(NAME ${name}.plugin COMMAND test_plugin_${name} $<TARGET_FILE:${name}> ${T_ARGS})
    set_tests_properties(${name}.plugin PROPERTIES LABELS "device;gpu" TIMEOUT 480)
endfunction()
