-- timer_move: set the due time of the timer :number.
UPDATE {timer} SET due_at = :due_at WHERE seq = :number
