-- connection_settle: set up a connection that is ours alone: the server holds locks, and waits for them, no longer than :number ms for a client that may be gone; 0: nothing is limited. Limits that are lower stay.
SET SESSION tx_isolation = 'READ-COMMITTED', SESSION tx_read_only = 0, SESSION autocommit = 1,
    SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
    SESSION innodb_lock_wait_timeout = CASE :number WHEN 0 THEN @@innodb_lock_wait_timeout ELSE LEAST(@@innodb_lock_wait_timeout, CAST(CEIL(:number / 1000) AS SIGNED)) END,
    SESSION lock_wait_timeout = CASE :number WHEN 0 THEN @@lock_wait_timeout ELSE LEAST(@@lock_wait_timeout, CAST(CEIL(:number / 1000) AS SIGNED)) END,
    SESSION idle_transaction_timeout = CASE WHEN :number = 0 THEN 0 WHEN @@idle_transaction_timeout = 0 THEN CAST(CEIL(:number / 1000) AS SIGNED)
                                            ELSE LEAST(@@idle_transaction_timeout, CAST(CEIL(:number / 1000) AS SIGNED)) END,
    SESSION max_statement_time = :number / 1000
