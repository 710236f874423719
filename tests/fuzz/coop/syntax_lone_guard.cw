{ :: true; }
