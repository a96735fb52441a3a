module waypost

go 1.21
