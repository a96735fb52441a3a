-- inbox_hold: the same, to change it in this transaction.
SELECT CAST(m.id AS text), m.seq, {inbox_state}(m.seq)
FROM (SELECT i.id, i.seq FROM {inbox} AS i
      WHERE i.source = CAST(:source AS text) AND i.message_id = CAST(:message_id AS text) AND i.consumer = CAST(:consumer AS text)
      FOR UPDATE) AS m
