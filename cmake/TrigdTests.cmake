# SPDX-License-Identifier: Apache-2.0
# How tests and measurements of this project are declared.

# What the sanitizers' builds make: the programs of the tests that their presets run, and what these need.
add_custom_target(tests)
add_custom_target(tests_threads)

# trg_test(NAME program.c... [LIBS lib...] [DEPENDS target...] [LABELS label...] [TIMEOUT seconds]
#          [ARGS arg...])
# A cmocka program that is one ctest of that name.  DEPENDS are the targets that it finds in the build
# folder when it runs, programs and plugins; `backends` stands for all of them.
function(trg_test name)
    cmake_parse_arguments(T "" "TIMEOUT" "LIBS;DEPENDS;LABELS;ARGS" ${ARGN})
    trg_test_program(${name} target LIBS ${T_LIBS} DEPENDS ${T_DEPENDS} SOURCES ${T_UNPARSED_ARGUMENTS})
    trg_run(${name} ${target} TIMEOUT ${T_TIMEOUT} LABELS ${T_LABELS} ARGS ${T_ARGS})
endfunction()

# trg_device_test(NAME program.c... [LIBS lib...] [BACKENDS backend...] [LABELS label...])
# The same for a program that tests the devices of the backend it is given: a ctest NAME.BACKEND for each
# of BACKENDS, or for all that are built.
function(trg_device_test name)
    cmake_parse_arguments(T "" "" "LIBS;BACKENDS;LABELS" ${ARGN})
    get_property(built GLOBAL PROPERTY TRIGD_BACKENDS)
    if(NOT T_BACKENDS)
        set(T_BACKENDS ${built})
    endif()
    trg_test_program(${name} target LIBS ${T_LIBS} DEPENDS backends SOURCES ${T_UNPARSED_ARGUMENTS})
    foreach(backend ${T_BACKENDS})
        if(backend IN_LIST built)
            trg_run(${name}.${backend} ${target} TIMEOUT 300 LABELS device gpu ${T_LABELS} ARGS ${backend})
        endif()
    endforeach()
endfunction()

# trg_shards_test(NAME)
# The test NAME of a daemon once more with its clients in three shards: NAME.shards. The thread sanitizer has NAME.shards only, whose
# threads include those of one shard; the other sanitizers, to which a further thread is nothing new, have NAME only (and e2e.shards).
function(trg_shards_test name)
    string(REPLACE "." "_" target "test_${name}")
    trg_run(${name}.shards ${target} TIMEOUT 180 LABELS e2e three_shards ARGS)
    set_property(TEST ${name}.shards APPEND PROPERTY ENVIRONMENT TRIGD_TEST_SHARDS=3)
    set_property(TEST ${name} APPEND PROPERTY LABELS one_shard)
endfunction()

# trg_isa_tests(NAME [LABELS label...])
# The test NAME on the CPU once more for each level of the instruction set but the best: NAME.cpu-LEVEL. The sanitizers have the
# baseline alone: at -O1 nothing is vectorized, so that the levels hold the same code.
function(trg_isa_tests name)
    cmake_parse_arguments(T "" "" "LABELS" ${ARGN})
    string(REPLACE "." "_" target "test_${name}")
    set(levels ${TRIGD_KERNEL_LEVELS})
    list(TRANSFORM levels PREPEND x86-64-v)
    list(PREPEND levels base)
    list(POP_BACK levels)
    foreach(isa ${levels})
        trg_run(${name}.cpu-${isa} ${target} TIMEOUT 300 LABELS device ${T_LABELS} ARGS cpu)
        set_property(TEST ${name}.cpu-${isa} APPEND PROPERTY ENVIRONMENT TRIGD_CPU_ISA=${isa})
    endforeach()
endfunction()

# trg_fuzz(NAME program.c CORPUS folder [LIBS lib...] [ANEW source...] [DEPENDS target...]
#          [DEFINE definition...] [LABELS label...])
# A libFuzzer entry.  Its kept corpus, tests/fuzz/corpus/FOLDER, is the ctest NAME; with TRIGD_FUZZ the
# fuzzer fuzz_FOLDER is built as well, with the sources of ANEW compiled into it, so that it sees which
# lines its input reaches.
function(trg_fuzz name program)
    cmake_parse_arguments(T "" "CORPUS" "LIBS;ANEW;DEPENDS;DEFINE;LABELS" ${ARGN})
    trg_test_program(${name} target LIBS ${T_LIBS} DEPENDS ${T_DEPENDS}
        SOURCES ${program} ${CMAKE_SOURCE_DIR}/tests/common/corpus_main.c)
    target_compile_definitions(${target} PRIVATE ${T_DEFINE})
    trg_run(${name} ${target} LABELS fuzz ${T_LABELS} ARGS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${T_CORPUS})
    if(TRIGD_FUZZ)
        set(fuzzer fuzz_${T_CORPUS})
        add_executable(${fuzzer} ${program} ${T_ANEW})
        target_link_libraries(${fuzzer} PRIVATE trigd_options ${T_LIBS})
        target_compile_definitions(${fuzzer} PRIVATE ${T_DEFINE})
        target_include_directories(${fuzzer} PRIVATE ${CMAKE_SOURCE_DIR}/tests/common)
        target_compile_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
        target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
        trg_needs(${fuzzer} ${T_DEPENDS})
    endif()
endfunction()

# trg_bench(NAME program.c... [LIBS lib...] [DEPENDS target...])  builds bench/NAME.
function(trg_bench name)
    cmake_parse_arguments(B "" "" "LIBS;DEPENDS" ${ARGN})
    add_executable(${name} ${B_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE trigd_options ${B_LIBS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    trg_needs(${name} ${B_DEPENDS})
endfunction()

# trg_baseline(file.c...): serial programs that plugins are compared with, compiled for the core they run on. Results stay the same
# to the bit: nothing is contracted.
function(trg_baseline)
    check_c_compiler_flag(-march=native TRIGD_HAS_NATIVE)
    if(TRIGD_HAS_NATIVE AND NOT TRIGD_SANITIZE)
        set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -march=native)
    endif()
endfunction()

# trg_naive(file.c...): slow and obvious versions that the tests of an algorithm compare with. The sanitizers look at the algorithm, not
# at these, which would take most of the time.
function(trg_naive)
    if(TRIGD_SANITIZE)
        set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O2 -fno-sanitize=all)
    endif()
endfunction()

# Inside: the program of a test.
function(trg_test_program name ret_target)
    cmake_parse_arguments(P "" "" "SOURCES;LIBS;DEPENDS" ${ARGN})
    string(REPLACE "." "_" target "test_${name}")
    add_executable(${target} ${P_SOURCES})
    target_link_libraries(${target} PRIVATE trigd_options ${P_LIBS} PkgConfig::CMOCKA m)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/common)
    trg_needs(${target} ${P_DEPENDS})
    set(${ret_target} ${target} PARENT_SCOPE)
endfunction()

function(trg_needs target)
    get_property(backends GLOBAL PROPERTY TRIGD_BACKENDS)
    list(TRANSFORM backends PREPEND trigd-)
    list(TRANSFORM ARGN REPLACE "^backends$" "${backends}")
    if(ARGN)
        add_dependencies(${target} ${ARGN})
    endif()
endfunction()

function(trg_run name target)
    cmake_parse_arguments(R "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
    if(NOT R_TIMEOUT)
        set(R_TIMEOUT 120)
    endif()
    math(EXPR R_TIMEOUT "${R_TIMEOUT} * 4") # on a machine with a load of 10 a test has a fifth of two cores
    add_test(NAME ${name} COMMAND ${target} ${R_ARGS})
    if(NOT "slow" IN_LIST R_LABELS)
        add_dependencies(tests ${target})
        if("tsan" IN_LIST R_LABELS OR "e2e" IN_LIST R_LABELS)
            add_dependencies(tests_threads ${target})
        endif()
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${R_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${R_LABELS}" ENVIRONMENT
        "TRIGD_BUILD=${CMAKE_BINARY_DIR};TRIGD_SOURCE=${CMAKE_SOURCE_DIR}")
    if("e2e" IN_LIST R_LABELS) # first: they mostly wait, while the suites compile, and leave the end to those that fill the cores
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
endfunction()
