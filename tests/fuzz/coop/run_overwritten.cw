m(x) { while x > 0 { suspend; x := x - 1 } } n(x) { spawn(m, 1, t) }
{ spawn(m, 9, t); spawn(n, 0); await t; spawn(n, t, t); await t }
