# SPDX-License-Identifier: Apache-2.0
# trg_declare(OUT.h FILE.yaml...)
#     makes a header from declarations of collections (trg_declare.py, docs/collections.md) while the build is
#     configured, which happens again when one of them changes.
set(TRIGD_DECLARE ${CMAKE_CURRENT_LIST_DIR}/trg_declare.py)

# The first Python 3 that has PyYAML: that of the path, or the system's.
function(trg_find_python)
    if(TRIGD_PYTHON)
        return()
    endif()
    foreach(python python3 /usr/bin/python3)
        execute_process(COMMAND ${python} -c "import yaml" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(failed EQUAL 0)
            set(TRIGD_PYTHON ${python} CACHE STRING "Python 3 with PyYAML, which reads declarations of collections")
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "no python3 with the module yaml was found; install python3-yaml "
        "(tools/setup build does), or set TRIGD_PYTHON")
endfunction()

function(trg_declare out)
    trg_find_python()
    set(files "")
    foreach(file ${ARGN})
        get_filename_component(file ${file} ABSOLUTE)
        list(APPEND files ${file})
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files} ${TRIGD_DECLARE})
    execute_process(COMMAND ${TRIGD_PYTHON} ${TRIGD_DECLARE} header ${out} ${files}
        RESULT_VARIABLE failed ERROR_VARIABLE why)
    if(NOT failed EQUAL 0)
        message(FATAL_ERROR "${why}")
    endif()
endfunction()
