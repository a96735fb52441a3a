-- health_look: the server's clock, and null: no snapshot is looked for.
EXEC {Health_Look}
