-- Make the database that it is run in as one fresh from template0, or fail: tests use databases again.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', one.nspname);
    END LOOP;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    FOR one IN
        SELECT r.rolname
        FROM pg_db_role_setting AS s
            JOIN pg_database AS d ON d.oid = s.setdatabase
            LEFT JOIN pg_roles AS r ON r.oid = s.setrole
        WHERE d.datname = current_database()
    LOOP
        IF one.rolname IS NULL THEN
            EXECUTE format('ALTER DATABASE %I RESET ALL', current_database());
        ELSE
            EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET ALL', one.rolname, current_database());
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_class WHERE oid >= 16384)
        OR EXISTS (SELECT FROM pg_proc WHERE oid >= 16384)
        OR EXISTS (SELECT FROM pg_type WHERE oid >= 16384)
        OR EXISTS (SELECT FROM pg_extension WHERE oid >= 16384)
        OR EXISTS (SELECT FROM pg_event_trigger)
        OR EXISTS (SELECT FROM pg_publication)
        OR EXISTS (SELECT FROM pg_largeobject_metadata)
        OR EXISTS (SELECT FROM pg_default_acl)
        OR EXISTS (SELECT FROM pg_database WHERE datname = current_database()
            AND (datacl IS NOT NULL OR datconnlimit <> -1))
    THEN
        RAISE EXCEPTION 'something is left in the database %', current_database();
    END IF;
END
$$
