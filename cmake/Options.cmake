# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers as interface targets: link them where they should hold.

add_library(waypost_warnings INTERFACE)
target_compile_options(waypost_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    $<$<BOOL:${WAYPOST_WERROR}>:-Werror>)

add_library(waypost_sanitizers INTERFACE)
if(WAYPOST_SANITIZE STREQUAL "address")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(WAYPOST_SANITIZE STREQUAL "thread")
    set(sanitize -fsanitize=thread)
elseif(WAYPOST_SANITIZE STREQUAL "fuzzer") # clang alone; what the targets of tests/fuzz run on
    set(sanitize -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all)
elseif(WAYPOST_SANITIZE)
    message(FATAL_ERROR "WAYPOST_SANITIZE is '${WAYPOST_SANITIZE}': want address, thread or fuzzer")
endif()
if(sanitize)
    target_compile_options(waypost_sanitizers INTERFACE ${sanitize} -fno-omit-frame-pointer -g)
    target_link_options(waypost_sanitizers INTERFACE ${sanitize})
endif()
