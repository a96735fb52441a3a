-- queue_stats_finished: finished messages by topic.
EXEC {queue_StatsFinished}
