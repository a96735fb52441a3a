-- semaphore_set: make the semaphore :name, or change how many may hold it.
INSERT INTO {semaphore} (name, slots) VALUES (:name, :slots)
ON CONFLICT (name) DO UPDATE SET slots = excluded.slots
