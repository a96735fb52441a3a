-- copy_join_split: an unfinished message that has an ordering key of those that go to the store :owner with joins, and does not go. One, if there is one.
SELECT w.seq
FROM {copy_item} AS i JOIN {outbox} AS m ON m.seq = i.seq JOIN {outbox_work} AS w ON w.ordering_key = m.ordering_key
WHERE i.queue = 'join' AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND w.owner_token IS DISTINCT FROM i.peer
LIMIT 1
