-- queue_renew: extend claims to :lease us from now.
CALL {queue_renew}(:claims, :owner, :now, :lease)
