{ skip }
/* never closed
