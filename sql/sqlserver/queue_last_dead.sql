-- queue_last_dead: when the last dead letter died; null: there is none.
EXEC {queue_LastDead}
