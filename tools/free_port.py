#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Print a free TCP port of loopback, for a server of the tests.

It is below the range from which the system gives clients theirs (32768 and up on Linux): while a server
is down, a client that tries again and again could be given the server's port, and so keep it out for good.
"""

import random
import socket

while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
