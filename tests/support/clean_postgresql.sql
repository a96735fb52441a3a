-- Delete all rows but those of the journal of migrations, and begin each sequence anew: what a test that has
-- left the schema alone may leave for the next.
DO $$
DECLARE
    one record;
BEGIN
    PERFORM set_config('session_replication_role', 'replica', true); -- no triggers
    FOR one IN
        SELECT c.oid::regclass AS name
        FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
        WHERE c.relkind = 'r' AND c.oid >= 16384 AND c.relname <> 'migration'
    LOOP
        EXECUTE format('DELETE FROM %s', one.name);
    END LOOP;
    PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence;
END
$$
