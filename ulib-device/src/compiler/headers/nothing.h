// The compiler knows by itself what this header would declare.
