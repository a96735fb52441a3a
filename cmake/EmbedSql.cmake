# SPDX-License-Identifier: Apache-2.0
# Embeds the statements and migrations of sql/ into C, as byte arrays.
#
#   sql/statements.txt              the statements, one name a line; engines that stand after it are
#                                   the only ones that have it, a queue after a ! does not have it
#   sql/queues.txt                  the queues; a statement queue_<name> becomes one <queue>_<name> for
#                                   each, with the queue's name for {queue} in names of objects
#   sql/<engine>/<queue>_<name>.sql its text for a queue that needs one of its own
#   sql/<engine>/<name>.sql         their text
#   sql/<engine>/<queue>_<part>.sql   where there is one: what its statements have for {<part>}, which
#                                   is empty for other queues; the parts are columns, again, joined and unique
#   sql/<engine>/migrations.txt     the migrations in order, one file name a line without .sql
#   sql/<engine>/migrations/*.sql   their text
#   sql/<engine>/routines.txt       where there is one: the stored procedures, one name a line, and
#   sql/<engine>/routines/*.sql     their text; queue_<name> is there once for each queue
#   sql/<engine>/parts/<part>.sql   what routines have for a line {<part>}
#
#   sql/<engine>/columns.txt        where there is one: what columns are called in a queue's table, where
#                                   that is not what shared statements call them: queue, name, its name
#
# Engines that stand after a queue in queues.txt are the only ones that have it; <engine>=<name>: its
# objects are called so there.
#
# A listed file that is missing fails the build, and so does a file that is not listed.
# Included: defines waypost_embed_sql(). Run with `cmake -P`: writes the files.

cmake_policy(VERSION 3.25)

# The names of a list; with a further argument: those that this engine has.
function(waypost_sql_names out list)
    file(STRINGS ${list} lines REGEX "^[^#]")
    set(names)
    foreach(line IN LISTS lines)
        string(STRIP "${line}" line)
        string(REPLACE " " ";" words "${line}")
        list(POP_FRONT words name)
        list(FILTER words EXCLUDE REGEX "^!")
        list(TRANSFORM words REPLACE "=.*" "")
        if(NOT ARGN OR NOT words OR ARGN IN_LIST words)
            list(APPEND names ${name})
        endif()
    endforeach()
    set(seen ${names})
    list(REMOVE_DUPLICATES seen)
    if(NOT seen STREQUAL names)
        message(FATAL_ERROR "${list}: a name is listed twice")
    endif()
    set(${out} ${names} PARENT_SCOPE)
endfunction()

# The queues that a statement of all queues is not for.
function(waypost_sql_without out list name)
    file(STRINGS ${list} line REGEX "^${name}( |$)")
    string(REGEX MATCHALL "![a-z_]+" queues "${line}")
    list(TRANSFORM queues REPLACE "^!" "")
    set(${out} ${queues} PARENT_SCOPE)
endfunction()

# What the objects of a queue are called on an engine.
function(waypost_sql_called out list queue engine)
    file(STRINGS ${list} line REGEX "^${queue}( |$)")
    set(${out} ${queue} PARENT_SCOPE)
    if(line MATCHES " ${engine}=([A-Za-z]+)")
        set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
endfunction()

# Name a text `<name>` and its array: { "name", bytes, length }.
function(waypost_sql_text out name array text)
    string(HEX "${text}" hex)
    string(LENGTH "${hex}" len)
    math(EXPR len "${len} / 2")
    set(row "................................")
    string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    set(${out}
        "static const unsigned char ${array}[] = {\n${hex}0x00};\n" PARENT_SCOPE)
    set(${out}_entry "{\"${name}\", ${array}, ${len}}" PARENT_SCOPE)
endfunction()

set(WAYPOST_SQL_PARTS columns again joined unique)

# A text with the names that columns have in a queue's table. Variables keep theirs.
function(waypost_sql_rename out text queue dir)
    if(EXISTS ${dir}/columns.txt)
        file(STRINGS ${dir}/columns.txt lines REGEX "^${queue} ")
        foreach(line IN LISTS lines)
            string(REPLACE " " ";" words "${line}")
            list(GET words 1 from)
            list(GET words 2 to)
            foreach(round 1 2) # neighbours share a character
                string(REGEX REPLACE "(^|[^A-Za-z0-9_@])${from}([^A-Za-z0-9_]|$)" "\\1${to}\\2" text "${text}")
            endforeach()
        endforeach()
    endif()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# A statement of all queues as it is for one, whose parts are in this directory.
function(waypost_sql_for_queue out text queue dir)
    waypost_sql_called(called ${dir}/../queues.txt ${queue} ${ENGINE})
    foreach(name IN LISTS WAYPOST_SQL_PARTS)
        set(part)
        if(EXISTS ${dir}/${queue}_${name}.sql)
            file(READ ${dir}/${queue}_${name}.sql part)
            string(REGEX REPLACE "^--[^\n]*\n" "" part "${part}")
            string(STRIP "${part}" part)
            string(PREPEND part "\n")
        endif()
        string(REPLACE "{${name}}" "${part}" text "${text}")
    endforeach()
    string(REPLACE "{queue" "{${called}" text "${text}")
    string(REPLACE "{name:queue" "{name:${called}" text "${text}")
    string(REPLACE "{text:queue" "{text:${called}" text "${text}")
    waypost_sql_rename(text "${text}" ${queue} ${dir})
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# A routine with the parts of this directory in it.
function(waypost_sql_with_parts out text dir)
    file(GLOB parts ${dir}/*.sql)
    foreach(file IN LISTS parts)
        get_filename_component(name ${file} NAME_WE)
        file(READ ${file} part)
        if(NOT part MATCHES "^-- ${name}: ")
            message(FATAL_ERROR "${file}: the first line must be '-- ${name}: <what it does>'")
        endif()
        string(REGEX REPLACE "^--[^\n]*\n" "" part "${part}")
        string(REPLACE "{${name}}\n" "${part}" text "${text}")
    endforeach()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The ids: each statement's own, each queue's copies of the shared ones in one order, and what the
# first of them is.
function(waypost_sql_ids out names queues)
    set(shared ${names})
    list(FILTER shared INCLUDE REGEX "^queue_")
    list(FILTER names EXCLUDE REGEX "^queue_")
    set(ids)
    foreach(queue IN LISTS queues)
        foreach(name IN LISTS shared)
            string(REGEX REPLACE "^queue_" "${queue}_" name ${name})
            list(APPEND ids ${name})
        endforeach()
    endforeach()
    list(APPEND ids ${names})
    list(JOIN ids "\", \"" quoted)
    list(TRANSFORM ids TOUPPER)
    list(TRANSFORM shared TOUPPER)
    list(JOIN ids ",\n    WP__SQL_" ids)
    list(JOIN shared ",\n    WP__" shared)
    set(body "#ifndef WP__SQL_IDS_H\n#define WP__SQL_IDS_H\n\n")
    string(APPEND body "typedef enum wp__sql_id {\n    WP__SQL_${ids},\n    WP__SQL_COUNT\n} wp__sql_id;\n\n")
    string(APPEND body "/* Their names. */\n#define WP__SQL_NAMES \"${quoted}\"\n\n")
    string(APPEND body "/* The statements that each queue has, in the order of their ids. */\n")
    string(APPEND body "typedef enum wp__queue_sql {\n    WP__${shared},\n    WP__QUEUE_SQL_COUNT\n} wp__queue_sql;\n\n")
    string(APPEND body "/* The first statement of each queue. */\n")
    string(APPEND body "enum {\n")
    set(number 0)
    foreach(queue IN LISTS queues)
        string(TOUPPER ${queue} upper)
        string(APPEND body "    WP__SQL_FIRST_OF_${upper} = ${number} * WP__QUEUE_SQL_COUNT,\n")
        math(EXPR number "${number} + 1")
    endforeach()
    string(APPEND body "    WP__QUEUES = ${number}\n};\n\n#endif\n")
    set(${out} "${body}" PARENT_SCOPE)
endfunction()

# Add the text and the entry of one statement to the caller's `body` and `table`.
function(waypost_sql_add name text)
    waypost_sql_text(array ${name} text_${name} "${text}")
    string(TOUPPER ${name} upper)
    string(APPEND body "${array}")
    string(APPEND table "    [WP__SQL_${upper}] = ${array_entry},\n")
    set(body "${body}" PARENT_SCOPE)
    set(table "${table}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    # cmake -D DIR=sql -D ENGINE=sqlite -D OUT=file.c -P EmbedSql.cmake; without ENGINE: the ids
    waypost_sql_names(names ${DIR}/statements.txt ${ENGINE})
    waypost_sql_names(queues ${DIR}/queues.txt ${ENGINE})
    set(note "/* Generated from sql/ by cmake/EmbedSql.cmake. */\n")
    if(NOT ENGINE)
        waypost_sql_ids(ids "${names}" "${queues}")
        set(body "${note}${ids}")
    else()
        set(table "const wp__sql_source wp__sql_${ENGINE}[WP__SQL_COUNT] = {\n")
        set(body "${note}#include \"op/sql.h\"\n\n")
        foreach(name IN LISTS names)
            set(file ${DIR}/${ENGINE}/${name}.sql)
            file(READ ${file} text)
            if(NOT text MATCHES "^-- ${name}: ")
                message(FATAL_ERROR "${file}: the first line must be '-- ${name}: <what it does>'")
            endif()
            if(NOT name MATCHES "^queue_")
                waypost_sql_add(${name} "${text}")
                continue()
            endif()
            waypost_sql_without(without ${DIR}/statements.txt ${name})
            foreach(queue IN LISTS queues)
                if(queue IN_LIST without)
                    continue()
                endif()
                string(REGEX REPLACE "^queue_" "${queue}_" own ${name})
                set(mine "${text}")
                if(EXISTS ${DIR}/${ENGINE}/${own}.sql)
                    file(READ ${DIR}/${ENGINE}/${own}.sql mine)
                endif()
                waypost_sql_for_queue(mine "${mine}" ${queue} ${DIR}/${ENGINE})
                waypost_sql_add(${own} "${mine}")
            endforeach()
        endforeach()
        string(APPEND table "};\n\n")

        waypost_sql_names(migrations ${DIR}/${ENGINE}/migrations.txt)
        string(APPEND table "const wp__sql_source wp__sql_${ENGINE}_migrations[] = {\n")
        foreach(name IN LISTS migrations)
            file(READ ${DIR}/${ENGINE}/migrations/${name}.sql text)
            waypost_sql_text(array ${name} migration_${name} "${text}")
            string(APPEND body "${array}")
            string(APPEND table "    ${array_entry},\n")
        endforeach()
        list(LENGTH migrations count)
        string(APPEND table "};\n\n")
        string(APPEND table "const size_t wp__sql_${ENGINE}_migration_count = ${count};\n")

        if(EXISTS ${DIR}/${ENGINE}/routines.txt)
            waypost_sql_names(routines ${DIR}/${ENGINE}/routines.txt)
            set(count 0)
            string(APPEND table "\nconst wp__sql_source wp__sql_${ENGINE}_routines[] = {\n")
            foreach(name IN LISTS routines)
                file(READ ${DIR}/${ENGINE}/routines/${name}.sql text)
                waypost_sql_with_parts(text "${text}" ${DIR}/${ENGINE}/parts)
                set(copies "")
                if(name MATCHES "^queue_")
                    waypost_sql_without(without ${DIR}/statements.txt ${name})
                    set(copies ${queues})
                    list(REMOVE_ITEM copies ${without} "")
                endif()
                foreach(queue IN LISTS copies)
                    string(REGEX REPLACE "^queue_" "${queue}_" own ${name})
                    set(mine "${text}")
                    if(EXISTS ${DIR}/${ENGINE}/routines/${own}.sql)
                        file(READ ${DIR}/${ENGINE}/routines/${own}.sql mine)
                        waypost_sql_with_parts(mine "${mine}" ${DIR}/${ENGINE}/parts)
                    endif()
                    waypost_sql_for_queue(mine "${mine}" ${queue} ${DIR}/${ENGINE})
                    waypost_sql_text(array ${own} routine_${own} "${mine}")
                    string(APPEND body "${array}")
                    string(APPEND table "    ${array_entry},\n")
                    math(EXPR count "${count} + 1")
                endforeach()
                if(NOT copies)
                    waypost_sql_text(array ${name} routine_${name} "${text}")
                    string(APPEND body "${array}")
                    string(APPEND table "    ${array_entry},\n")
                    math(EXPR count "${count} + 1")
                endif()
            endforeach()
            string(APPEND table "};\n\nconst size_t wp__sql_${ENGINE}_routine_count = ${count};\n")
        endif()
        string(APPEND body "\n${table}")
    endif()
    file(WRITE ${OUT} "${body}")
    return()
endif()

set(WAYPOST_EMBED_SQL_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

# Check that the .sql files of a directory are exactly the listed ones, and return their paths.
function(waypost_sql_check out dir list)
    waypost_sql_names(names ${list} ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(GLOB present CONFIGURE_DEPENDS ${dir}/*.sql)
    set(listed ${names})
    list(TRANSFORM listed PREPEND ${dir}/)
    list(TRANSFORM listed APPEND .sql)
    foreach(file IN LISTS listed)
        if(NOT file IN_LIST present)
            message(FATAL_ERROR "${list} lists a statement without a file: ${file} is missing")
        endif()
    endforeach()
    list(REMOVE_ITEM present ${listed})
    # a queue's own text of a shared statement, and its parts
    waypost_sql_names(queues ${PROJECT_SOURCE_DIR}/sql/queues.txt)
    set(own)
    list(TRANSFORM WAYPOST_SQL_PARTS PREPEND queue_ OUTPUT_VARIABLE parts)
    foreach(queue IN LISTS queues)
        foreach(name IN LISTS names parts)
            string(REGEX REPLACE "^queue_" "${queue}_" mine ${name})
            if(NOT mine STREQUAL name AND ${dir}/${mine}.sql IN_LIST present)
                list(APPEND own ${dir}/${mine}.sql)
            endif()
        endforeach()
    endforeach()
    if(own)
        list(REMOVE_ITEM present ${own})
    endif()
    if(present)
        list(JOIN present "\n  " present)
        message(FATAL_ERROR "files that ${list} does not list:\n  ${present}")
    endif()
    set(${out} ${listed} ${own} PARENT_SCOPE)
endfunction()

# waypost_embed_sql(<out-var> <engine>...): the generated sources, sql_ids.h and sql_<engine>.c,
# in the build tree's directory `generated`.
function(waypost_embed_sql out)
    set(dir ${PROJECT_SOURCE_DIR}/sql)
    set(generated ${PROJECT_BINARY_DIR}/generated)
    set(statements ${dir}/statements.txt)
    set(queues ${dir}/queues.txt)
    set(outputs ${generated}/sql_ids.h)
    add_custom_command(
        OUTPUT ${generated}/sql_ids.h
        COMMAND ${CMAKE_COMMAND} -D DIR=${dir} -D OUT=${generated}/sql_ids.h
                -P ${WAYPOST_EMBED_SQL_SCRIPT}
        DEPENDS ${statements} ${queues} ${WAYPOST_EMBED_SQL_SCRIPT}
        COMMENT "Naming SQL statements" VERBATIM)
    foreach(engine IN LISTS ARGN)
        set(migrations ${dir}/${engine}/migrations.txt)
        waypost_sql_check(texts ${dir}/${engine} ${statements} ${engine})
        waypost_sql_check(migration_texts ${dir}/${engine}/migrations ${migrations})
        set(routines)
        set(routine_texts)
        if(EXISTS ${dir}/${engine}/routines.txt)
            set(routines ${dir}/${engine}/routines.txt)
            waypost_sql_check(routine_texts ${dir}/${engine}/routines ${routines})
            file(GLOB parts CONFIGURE_DEPENDS ${dir}/${engine}/parts/*.sql)
            list(APPEND routine_texts ${parts})
        endif()
        if(EXISTS ${dir}/${engine}/columns.txt)
            list(APPEND routine_texts ${dir}/${engine}/columns.txt)
        endif()
        add_custom_command(
            OUTPUT ${generated}/sql_${engine}.c
            COMMAND ${CMAKE_COMMAND} -D DIR=${dir} -D ENGINE=${engine}
                    -D OUT=${generated}/sql_${engine}.c -P ${WAYPOST_EMBED_SQL_SCRIPT}
            DEPENDS ${statements} ${queues} ${migrations} ${texts} ${migration_texts}
                    ${routines} ${routine_texts}
                    ${WAYPOST_EMBED_SQL_SCRIPT}
            COMMENT "Embedding SQL for ${engine}" VERBATIM)
        list(APPEND outputs ${generated}/sql_${engine}.c)
    endforeach()
    set(${out} ${outputs} PARENT_SCOPE)
endfunction()
