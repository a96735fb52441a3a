-- pause_list: the topics that are paused.
SELECT queue, topic, paused_at, paused_by FROM {paused_topic} ORDER BY queue, topic
