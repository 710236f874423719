{ skip } { skip }
