-- inbox_unmark: the app does not process the message :number itself any more.
DELETE FROM {inbox_work} WHERE seq = :number AND status = 1 AND locked_until IS NULL
