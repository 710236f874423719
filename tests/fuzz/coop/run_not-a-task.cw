m(x) { suspend; await x; skip } { spawn(m, true); await t; t := 3 }
