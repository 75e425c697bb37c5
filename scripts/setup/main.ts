import { ensureEngine } from "./engine.ts";
import { SetupError } from "./errors.ts";
import { ensurePackages } from "./packages.ts";
import { requirementsFor } from "./requirements.ts";

const level = process.argv[2];
if (level !== "engine" && level !== "package" && level !== "tests") throw new Error(`unknown set-up level: ${level}`);

try {
  await ensurePackages(await requirementsFor(level));
  if (level !== "package") await ensureEngine();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`set-up: ${error.message}`);
  process.exitCode = 1;
}
