{ skip } // ÿþ€ í € is fine here
øˆ
