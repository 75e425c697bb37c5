import { z } from "zod";

// Schemas are used too rarely to be worth compiling.
z.config({ jitless: true });
