-- audit_add: note who did what.
EXEC {Audit_Add} @Action = :action, @Actor = :worker, @Queue = :source, @Subject = :subject, @Detail = :detail, @Now = :now
