import { z } from "zod";

/** Text for people, without control characters, which could forge entries of a list or a log. */
export const displayText = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]*$/u, "must not contain control characters");
