-- inbox_unmark: the app does not process the message :number itself any more.
DELETE FROM {inbox_work} AS w WHERE w.seq = CAST(:number AS bigint) AND w.status = 1 AND w.locked_until IS NULL
