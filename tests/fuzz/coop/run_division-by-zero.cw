m(x) { a := 7 % x } { spawn(m, 0); suspend; :: 1 / a; skip }
