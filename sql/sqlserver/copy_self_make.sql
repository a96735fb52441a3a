-- copy_self_make: give this store an id, if it has none yet.
EXEC {CopySelf_Make} @Id = :id
