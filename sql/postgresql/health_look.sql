-- health_look: the server's clock, and for how many us the oldest snapshot on this database that may be seen has been held.
SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint),
       coalesce((SELECT CAST(extract(epoch FROM clock_timestamp() - min(a.xact_start)) * 1000000 AS bigint)
                 FROM pg_catalog.pg_stat_activity AS a
                 WHERE a.backend_xmin IS NOT NULL AND a.datname = current_database() AND a.pid <> pg_backend_pid()
                   AND a.backend_type = 'client backend'), 0)
