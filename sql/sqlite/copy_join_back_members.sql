-- copy_join_back_members: likewise of those that came.
SELECT m.place, m.message, c.id, m.status, m.attached_at, m.counted_at
FROM {copy_join} AS c CROSS JOIN {copy_join_member} AS m ON m.id = c.id
WHERE c.peer = :owner AND c.arrived = 1
ORDER BY c.id, m.place
