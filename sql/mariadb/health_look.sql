-- health_look: the server's clock, and null: no snapshot is looked for.
SELECT TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)), CAST(NULL AS SIGNED)
