import { ensureEngine } from "./engine.ts";
import { SetupError } from "./errors.ts";
import { ensurePackages } from "./packages.ts";
import { clearOldBridge, machineBridges } from "./podman-bridges.ts";
import { requirementsFor } from "./requirements.ts";

const level = process.argv[2];
if (level !== "engine" && level !== "package" && level !== "tests") throw new Error(`unknown set-up level: ${level}`);

try {
  const installed = await ensurePackages(await requirementsFor(level));
  if (level === "tests")
    clearOldBridge(
      installed.some(({ name }) => name === "netavark"),
      machineBridges,
    );
  if (level !== "package") await ensureEngine();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`set-up: ${error.message}`);
  process.exitCode = 1;
}
