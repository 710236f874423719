m(x) { suspend } { spawn(m, 0, t); x := t == 0 || t != t; x := -t }
