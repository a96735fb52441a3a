-- queue_last_dead: when the last dead letter died; null: there is none.
SELECT max(f.finished_at) FROM {queue_finished} AS f WHERE f.status = 3
