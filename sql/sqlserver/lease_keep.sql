-- lease_keep: extend the acquisitions of @Leases, [[fence, duration in us], ...]. One that has expired is extended, too, as long as nobody else was given the name: its holder's clock says that it still runs. Rows that others have locked are not waited for: they come with 0.
EXEC {Lease_Keep} @Leases = :leases, @Now = :now
