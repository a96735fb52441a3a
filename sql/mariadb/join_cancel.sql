-- join_cancel: end a join as cancelled; its status then, or no row.
CALL {join_cancel}(:id, :now)
