#!/usr/bin/env python3
"""`rota serve` and `rota job`: all that its neighbours serve_*_test.py have, in one pool, since most of it waits.

  serve_test.py ROTA [RUNNER]     the programs to test; each of the files also runs alone, or some tests of it
"""

import serve_alerts_test
import serve_api_test
import serve_cli_test
import serve_daemon
import serve_doors_test
import serve_fuzz_test
import serve_machine_test
import serve_restart_test
import serve_tables_test

if __name__ == "__main__":
    # Those that take long first.
    serve_daemon.main(serve_api_test, serve_cli_test, serve_doors_test, serve_restart_test, serve_machine_test,
                      serve_tables_test, serve_alerts_test, serve_fuzz_test)
