-- join_cancel: end a join as cancelled; its status then, or no row.
EXEC {Join_Cancel} @Id = :id, @Now = :now
