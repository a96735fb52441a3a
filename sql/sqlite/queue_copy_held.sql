-- queue_copy_held: those of :seqs that are held for the store :owner; nobody else can change that now. Of the inbox: when they were last seen.
SELECT +w.seq, 0
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_work} AS w
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND w.seq = s.value AND w.status = 1 AND w.owner_token = :owner
