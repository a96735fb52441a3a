-- copy_join_split: an unfinished message that has an ordering key of those that go to the store :owner with joins, and does not go. One, if there is one.
SELECT +w.seq
FROM {copy_item} AS i CROSS JOIN {outbox} AS m CROSS JOIN {outbox_work} AS w
WHERE i.queue = 'join' AND i.peer = :owner AND m.seq = i.seq AND m.ordering_key IS NOT NULL AND w.ordering_key = m.ordering_key AND w.owner_token IS NOT i.peer
LIMIT 1
