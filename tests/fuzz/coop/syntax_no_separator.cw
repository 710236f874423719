{ skip skip }
