m(x) { await x } { spawn(m, 1); await x }
