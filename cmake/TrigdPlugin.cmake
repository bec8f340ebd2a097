# SPDX-License-Identifier: Apache-2.0
# trg_add_plugin(NAME [SOURCES more.c ...])  builds NAME.c, and NAME.kernel.c where it exists, to
#     NAME.so.
# trg_add_kernels(TARGET FILE.kernel.c)  adds the kernels of a file to a target in all forms: for the
#     host (one build for each level of the instruction set), as a CUDA fat binary where nvcc
#     is, as OpenCL C text.  The target may include "FILE.program.h", which declares
#     `extern const struct trg_program FILE_program`.
#
# Works in this project and, from the installed package, out of tree.
include(CheckCCompilerFlag)
set(TRIGD_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
if(NOT TRIGD_INCLUDE_DIR)
    set(TRIGD_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../include)
endif()
enable_language(ASM)
find_program(TRIGD_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    check_c_compiler_flag(-march=x86-64-v3 TRIGD_HAS_V3)
    check_c_compiler_flag(-march=x86-64-v4 TRIGD_HAS_V4)
endif()

function(trg_cuda_targets out)
    set(archs 75 80 86 89 90)
    if(CMAKE_CUDA_ARCHITECTURES)
        set(archs ${CMAKE_CUDA_ARCHITECTURES})
    endif()
    set(flags "")
    foreach(a ${archs})
        list(APPEND flags -gencode arch=compute_${a},code=sm_${a})
        set(last ${a})
    endforeach()
    # newer chips compile this text themselves
    list(APPEND flags -gencode arch=compute_${last},code=compute_${last})
    set(${out} ${flags} PARENT_SCOPE)
endfunction()

# One build of the kernels for the host.
function(trg_host_variant target name file kernels variant march)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.host-${variant}.c)
    set(text "#include \"${file}\"\nextern const struct trg_host_entry ${name}_host_${variant}[];\n")
    string(APPEND text "const struct trg_host_entry ${name}_host_${variant}[] = {\n")
    foreach(k ${kernels})
        string(APPEND text "    {\"${k}\", ${k}},\n")
    endforeach()
    string(APPEND text "    {0, 0}};\n")
    file(GENERATE OUTPUT ${source} CONTENT "${text}")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math;${march}" OBJECT_DEPENDS ${file})
    target_sources(${target} PRIVATE ${source})
endfunction()

function(trg_add_kernels target file)
    get_filename_component(file ${file} ABSOLUTE)
    get_filename_component(name ${file} NAME)
    string(REPLACE ".kernel.c" "" name ${name})
    get_filename_component(folder ${file} DIRECTORY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX MATCHALL "TRG_KERNEL[1-8]\\([a-zA-Z0-9_]+" found "${text}")
    list(TRANSFORM found REPLACE "TRG_KERNEL[1-8]\\(" "")
    set(base ${CMAKE_CURRENT_BINARY_DIR}/${name})
    file(GLOB headers ${folder}/*.h ${TRIGD_INCLUDE_DIR}/trigd/*.h)

    set(variants "")
    if(TRIGD_HAS_V4)
        trg_host_variant(${target} ${name} ${file} "${found}" v4 -march=x86-64-v4)
        list(APPEND variants v4)
    endif()
    if(TRIGD_HAS_V3)
        trg_host_variant(${target} ${name} ${file} "${found}" v3 -march=x86-64-v3)
        list(APPEND variants v3)
    endif()
    trg_host_variant(${target} ${name} ${file} "${found}" base "")
    list(APPEND variants base)

    add_custom_command(OUTPUT ${base}.cl
        COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${base}.cl -DINCLUDE=${TRIGD_INCLUDE_DIR}
            -P ${TRIGD_CMAKE_DIR}/TrigdFlatten.cmake
        DEPENDS ${file} ${headers} ${TRIGD_CMAKE_DIR}/TrigdFlatten.cmake)
    set(embedded ${base}.cl)
    set(asm ".section .rodata\n.balign 16\n.global ${name}_opencl\n.hidden ${name}_opencl\n")
    string(APPEND asm "${name}_opencl:\n.incbin \"${base}.cl\"\n.byte 0\n")
    string(APPEND asm ".global ${name}_opencl_end\n.hidden ${name}_opencl_end\n${name}_opencl_end:\n")
    set(fatbin "0")
    set(fatbin_bytes "0")
    set(externs "")
    if(TRIGD_CUDA AND TRIGD_NVCC)
        trg_cuda_targets(gencode)
        add_custom_command(OUTPUT ${base}.fatbin
            COMMAND ${TRIGD_NVCC} -fatbin -x cu -O3 --fmad=false -std=c++17 -Wno-deprecated-gpu-targets
                -I ${TRIGD_INCLUDE_DIR} -I ${folder} ${gencode} ${file} -o ${base}.fatbin
            DEPENDS ${file} ${headers})
        list(APPEND embedded ${base}.fatbin)
        string(APPEND asm ".balign 16\n.global ${name}_fatbin\n.hidden ${name}_fatbin\n${name}_fatbin:\n")
        string(APPEND asm ".incbin \"${base}.fatbin\"\n.global ${name}_fatbin_end\n")
        string(APPEND asm ".hidden ${name}_fatbin_end\n${name}_fatbin_end:\n")
        set(externs "extern const unsigned char ${name}_fatbin[], ${name}_fatbin_end[];\n")
        set(fatbin "${name}_fatbin")
        set(fatbin_bytes "(size_t)(${name}_fatbin_end - ${name}_fatbin)")
    endif()
    string(APPEND asm ".section .note.GNU-stack,\"\",@progbits\n")
    file(GENERATE OUTPUT ${base}.embed.S CONTENT "${asm}")
    set_source_files_properties(${base}.embed.S PROPERTIES OBJECT_DEPENDS "${embedded}")

    # the sizes are differences of symbols, which C does not take for constants: a constructor fills them
    set(isa_v4 "x86-64-v4")
    set(isa_v3 "x86-64-v3")
    set(isa_base "")
    set(text "/* generated */\n#include \"${name}.program.h\"\n${externs}")
    string(APPEND text "extern const char ${name}_opencl[], ${name}_opencl_end[];\n")
    set(list "")
    foreach(v ${variants})
        string(APPEND text "extern const struct trg_host_entry ${name}_host_${v}[];\n")
        string(APPEND list "    {\"${isa_${v}}\", ${name}_host_${v}},\n")
    endforeach()
    string(APPEND text "static const struct trg_host_code host[] = {\n${list}    {0, 0}};\n")
    string(APPEND text "struct trg_program ${name}_program = {.name = \"${name}\", .host = host,\n")
    string(APPEND text "    .fatbin = ${fatbin}, .opencl = ${name}_opencl};\n")
    string(APPEND text "__attribute__((constructor)) static void set_sizes(void)\n{\n")
    string(APPEND text "    ${name}_program.fatbin_bytes = ${fatbin_bytes};\n")
    string(APPEND text "    ${name}_program.opencl_bytes = (size_t)(${name}_opencl_end - ${name}_opencl - 1);\n}\n")
    file(GENERATE OUTPUT ${base}.program.c CONTENT "${text}")
    file(GENERATE OUTPUT ${base}.program.h CONTENT
        "/* generated */\n#pragma once\n#include \"trigd/device.h\"\nextern struct trg_program ${name}_program; /* complete once the object is loaded */\n")
    target_sources(${target} PRIVATE ${base}.program.c ${base}.embed.S)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${TRIGD_INCLUDE_DIR} ${folder})
endfunction()

function(trg_add_plugin name)
    cmake_parse_arguments(P "" "" "SOURCES" ${ARGN})
    add_library(${name} MODULE ${name}.c ${P_SOURCES})
    set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden C_STANDARD 17
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
    target_include_directories(${name} PRIVATE ${TRIGD_INCLUDE_DIR})
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>)
    if(TARGET trigd_options)
        target_link_libraries(${name} PRIVATE trigd_options)
    endif()
    target_link_libraries(${name} PRIVATE m)
    target_link_options(${name} PRIVATE -Wl,-z,now -Wl,-z,relro)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.kernel.c)
        trg_add_kernels(${name} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.kernel.c)
    endif()
    include(GNUInstallDirs)
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/trigd/plugins)
endfunction()
