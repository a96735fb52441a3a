-- queue_last_dead: when the last dead letter died; null: there is none.
SELECT MAX(f.finished_at) FROM {queue_finished} AS f WHERE f.status = 3
