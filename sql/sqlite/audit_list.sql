-- audit_list: up to :batch notes before :number, the latest first.
SELECT seq, at, actor, action, queue, subject, detail FROM {audit} WHERE seq < :number ORDER BY seq DESC LIMIT :batch
