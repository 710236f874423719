{ spawn(nobody, 1, t); await t }
