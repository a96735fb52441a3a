-- copy_self_make: give this store an id, if it has none yet.
INSERT INTO {copy_self} (one, id) VALUES (1, UNHEX(REPLACE(:id, '-', ''))) ON DUPLICATE KEY UPDATE one = 1
