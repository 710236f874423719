{ x := 1 /* ü is fine here */; ü := 2 }
