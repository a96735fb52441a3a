-- lease_renew: extend what :owner holds to :lease us from now; with :fence, that very acquisition.
CALL {lease_renew}(:name, :owner, :fence, :lease, :now)
