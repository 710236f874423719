language fortran; { skip }
