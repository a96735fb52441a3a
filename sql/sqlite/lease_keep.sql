-- lease_keep: extend acquisitions; :leases is a JSON object of fences and durations in us. One that
-- has expired is extended, too, as long as nobody else was given the name: its holder's clock says
-- that it still runs.
UPDATE {lease} SET held_until = :now + f.value, length = f.value
FROM json_each(:leases) AS f
WHERE fence = CAST(f.key AS INTEGER) AND owner IS NOT NULL
RETURNING +fence, 1
