language spawn; m(x) { :: x; skip } { spawn(m, 1, t); suspend; await t }
