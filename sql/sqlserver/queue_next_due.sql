-- queue_next_due: in how many us the first message of the JSON array @Topics may be tried, or null. Where there are more than 1,000 ordering keys it may be now; a claim finds out.
EXEC {queue_NextDue} @Topics = :topics, @Now = :now, @Since = :since
