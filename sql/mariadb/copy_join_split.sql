-- copy_join_split: an unfinished message that has an ordering key of those that go to the store :owner with joins, and does not go. One, if there is one.
SELECT w.seq
FROM {copy_item} AS i STRAIGHT_JOIN {outbox} AS m FORCE INDEX (PRIMARY) ON m.seq = i.seq
STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (keyed) ON w.ordering_key = m.ordering_key
WHERE i.queue = 'join' AND i.peer = UNHEX(REPLACE(:owner, '-', '')) AND NOT (w.owner_token <=> i.peer)
LIMIT 1
