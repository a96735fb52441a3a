-- copy_self_make: give this store an id, if it has none yet.
INSERT INTO {copy_self} (one, id) VALUES (1, :id) ON CONFLICT (one) DO NOTHING
