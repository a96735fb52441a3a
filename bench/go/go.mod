module waypost/bench

go 1.22

require waypost v0.0.0

replace waypost => ../../bindings/go
