language while; { a := 0; b := a && 1 / a || !a && (true || 1 / 0); while a < 3 && b { a := a + 1 } }
