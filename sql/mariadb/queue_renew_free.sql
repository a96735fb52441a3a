-- queue_renew_free: extend claims to :lease us from now, but wait for none that another transaction has locked: 0 tells that one is, and was ours before.
CALL {queue_renew_free}(:claims, :owner, :now, :lease)
