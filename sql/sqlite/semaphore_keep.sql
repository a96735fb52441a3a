-- semaphore_keep: extend slots; :leases is a JSON object of fences and durations in us. As lease_keep.
UPDATE {semaphore_holder} SET held_until = :now + f.value, length = f.value
FROM json_each(:leases) AS f
WHERE fence = CAST(f.key AS INTEGER)
RETURNING +fence, 1
