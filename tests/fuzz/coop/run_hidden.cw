x(x) { x := x + 1; spawn(x, x, x); await x } { y := 1; spawn(x, y, x); :: y; await x }
