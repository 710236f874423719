language guard; { t := 1; :: t; suspend; await t }
