-- connection_settle: set up a connection that is ours alone. The server holds locks, and waits for them, no longer
-- than :number ms for a client that may be gone; limits that are lower stay. 0: nothing is limited, a migration
-- takes the time that it takes. What is not in a transaction of ours runs as if it were.
SELECT set_config(s.name, s.ours, false)
FROM (
    SELECT p.name, p.setting, CASE p.name WHEN 'default_transaction_isolation' THEN 'read committed'
                                          WHEN 'default_transaction_read_only' THEN 'off'
                                          WHEN 'default_transaction_deferrable' THEN 'off'
                                          ELSE CAST(CAST(:number AS bigint) AS text) END AS ours
    FROM pg_catalog.pg_settings AS p
    WHERE p.name IN ('default_transaction_isolation', 'default_transaction_read_only', 'default_transaction_deferrable',
                     'lock_timeout', 'idle_in_transaction_session_timeout')
       OR p.name = 'statement_timeout' AND CAST(:number AS bigint) = 0) AS s
WHERE CASE WHEN s.name LIKE '%timeout' AND s.ours <> '0' AND s.setting <> '0'
           THEN CAST(s.setting AS bigint) > CAST(s.ours AS bigint) ELSE s.setting <> s.ours END
