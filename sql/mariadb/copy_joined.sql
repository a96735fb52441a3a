-- copy_joined: what stays since it belongs to joins that are not over: messages that are not with a worker, and the joins. Messages of the topic :topic wait for one.
SELECT (SELECT count(*) FROM {outbox_work} AS w
        WHERE w.status <> 1 AND (w.topic = :topic
           OR w.seq IN (SELECT k.seq FROM {join_member} AS k JOIN {join} AS j ON j.seq = k.join_seq WHERE k.status = 0 AND j.status = 0))),
       (SELECT count(*) FROM {join} AS o WHERE o.status = 0)
