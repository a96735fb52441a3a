-- lease_release: free what :owner holds; with :fence, that very acquisition.
CALL {lease_release}(:name, :owner, :fence, :now)
