-- audit_list: up to @BatchSize notes before @Number, the latest first.
EXEC {Audit_List} @Number = :number, @BatchSize = :batch
