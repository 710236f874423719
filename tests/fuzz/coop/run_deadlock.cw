m(x) { await u; skip } { spawn(m, 1, t); spawn(m, 2, u); await t }
