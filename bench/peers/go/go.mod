module rota/bench/peers/go

go 1.19
