m(x) { if x > 0 { spawn(m, x - 1); spawn(m, x - 1) } } { spawn(m, 5) }
