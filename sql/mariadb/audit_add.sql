-- audit_add: note who did what.
INSERT INTO {audit} (at, actor, action, queue, subject, detail)
VALUES (COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))), :worker, :action, :source, :subject, :detail)
