m(x) { skip } m(y) { skip } { spawn(m, 1) }
