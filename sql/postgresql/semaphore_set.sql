-- semaphore_set: make the semaphore :name, or change how many may hold it.
INSERT INTO {semaphore} (name, slots, held) VALUES (CAST(:name AS text), CAST(:slots AS bigint), 0)
ON CONFLICT (name) DO UPDATE SET slots = excluded.slots
