-- pause_list: the topics that are paused. Workers ask this again and again, and wait for nobody who is changing it: a row that somebody has locked is, until he commits, the opposite of what he has written.
EXEC {PausedTopic_List}
