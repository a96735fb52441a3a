module waypost

go 1.22
