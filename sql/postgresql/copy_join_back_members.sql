-- copy_join_back_members: likewise of those that came.
SELECT m.place, CAST(m.message AS text), CAST(c.id AS text), CAST(m.status AS bigint), m.attached_at, m.counted_at
FROM {copy_join} AS c JOIN {copy_join_member} AS m ON m.id = c.id
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 1
ORDER BY c.id, m.place
