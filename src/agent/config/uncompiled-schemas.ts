import { z } from "zod";

// A schema is used a few times at most in a command's life, and not often in the daemon's: not worth being compiled.
z.config({ jitless: true });
