language while; m(x) { skip } { spawn(m, 1) }
