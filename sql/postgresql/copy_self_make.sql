-- copy_self_make: give this store an id, if it has none yet.
INSERT INTO {copy_self} (one, id) VALUES (1, CAST(CAST(:id AS text) AS uuid)) ON CONFLICT (one) DO NOTHING
