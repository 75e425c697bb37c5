import { z } from "zod";

const NUL = "\0";

export const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => path.startsWith("/"), "must be an absolute path")
  .refine((path) => !path.split("/").includes(".."), "must not contain a '..' segment")
  .refine((path) => !path.includes(NUL), "must not contain NUL");
