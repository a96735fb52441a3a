-- semaphore_set: make the semaphore :name, or change how many may hold it.
INSERT INTO {semaphore} (name, slots, held) VALUES (:name, :slots, 0)
ON DUPLICATE KEY UPDATE slots = VALUE(slots)
