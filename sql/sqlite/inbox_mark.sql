-- inbox_mark: the app processes the message :number itself.
INSERT INTO {inbox_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number)
VALUES (:number, '', 1, 1, :now, 0, 0)
