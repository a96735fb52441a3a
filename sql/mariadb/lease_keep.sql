-- lease_keep: extend acquisitions; :leases are [[fence, duration in us], ...]. One that has expired is extended, too, as long as nobody else was given the name: its holder's clock says that it still runs. Rows that others have locked are not waited for: they come with 0.
CALL {lease_keep}(:leases, :now)
