-- queue_claim: lease up to :batch due messages of the JSON array :topics to :owner for :lease us.
CALL {queue_claim}(:topics, :owner, :now, :since, :after, :lease, :batch, :max_attempts)
