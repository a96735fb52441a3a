-- timer_cancel: end a timer that was never claimed, as cancelled.
CALL {timer_cancel}(:id, :now, :status)
