-- A text that differs if anything but rows was changed in the database, or the journal of migrations was.
SELECT md5(string_agg(t, ',' ORDER BY t)) FROM (
    SELECT 'class ' || oid || ' ' || xmin FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT 'column ' || attrelid || ' ' || attnum || ' ' || xmin FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT 'default ' || oid || ' ' || xmin FROM pg_attrdef
    UNION ALL SELECT 'constraint ' || oid || ' ' || xmin FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT 'trigger ' || oid || ' ' || xmin FROM pg_trigger
    UNION ALL SELECT 'function ' || oid || ' ' || xmin FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT 'type ' || oid || ' ' || xmin FROM pg_type WHERE oid >= 16384
    UNION ALL SELECT 'rule ' || oid || ' ' || xmin FROM pg_rewrite WHERE oid >= 16384
    UNION ALL SELECT 'policy ' || oid || ' ' || xmin FROM pg_policy
    UNION ALL SELECT 'schema ' || oid || ' ' || xmin FROM pg_namespace
    UNION ALL SELECT 'extension ' || oid || ' ' || xmin FROM pg_extension
    UNION ALL SELECT 'event trigger ' || oid || ' ' || xmin FROM pg_event_trigger
    UNION ALL SELECT 'publication ' || oid || ' ' || xmin FROM pg_publication
    UNION ALL SELECT 'rights ' || oid || ' ' || xmin FROM pg_default_acl
    UNION ALL SELECT 'large object ' || oid || ' ' || xmin FROM pg_largeobject_metadata
    UNION ALL SELECT 'setting ' || s.setrole || ' ' || s.xmin
        FROM pg_db_role_setting AS s JOIN pg_database AS d ON d.oid = s.setdatabase WHERE d.datname = current_database()
    UNION ALL SELECT 'database ' || coalesce(datacl::text, '') || ' ' || datconnlimit
        FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT query_to_xml(format('SELECT xmin, number FROM %s ORDER BY number', oid::regclass), true, true, '')::text
        FROM pg_class WHERE relkind = 'r' AND relname = 'migration'
) AS all_of_it (t)
