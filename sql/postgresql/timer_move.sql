-- timer_move: set the due time of the timer :number.
UPDATE {timer} SET due_at = CAST(:due_at AS bigint) WHERE seq = CAST(:number AS bigint)
