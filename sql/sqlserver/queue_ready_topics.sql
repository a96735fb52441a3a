-- queue_ready_topics: the topics with ready messages.
EXEC {queue_ReadyTopics}
