-- audit_add: note who did what.
INSERT INTO {audit} (at, actor, action, queue, subject, detail) VALUES (:now, :worker, :action, :source, :subject, :detail)
