import { InvalidArgumentError } from "commander";
import type { Volume } from "../../protocol/app-spec.ts";

/** Reads `LOCAL:TARGET[:ro|rw]`, such as `/var/lib/web:/data:ro`. Paths with a colon need a file. */
export function parseVolume(text: string): Volume {
  const [local = "", target = "", mode = "rw", ...rest] = text.split(":");
  if (rest.length > 0 || !local.startsWith("/") || !target.startsWith("/")) {
    throw new InvalidArgumentError("Write LOCAL:TARGET or LOCAL:TARGET:ro with absolute paths.");
  }
  if (mode !== "ro" && mode !== "rw") throw new InvalidArgumentError("The third part is ro or rw.");
  return { local, target, readonly: mode === "ro" };
}
