import { ensureEngine, isEngineReachable } from "./engine.ts";
import { SetupError } from "./errors.ts";
import { canInstall, ensurePackages } from "./packages.ts";
import { clearOldBridge, machineBridges } from "./podman-bridges.ts";
import { type Need, type Requirement, REQUIREMENTS } from "./requirements.ts";

/**
 * Installs what is missing of the named requirements and starts the container engine if it is one of them. If that is
 * impossible, prints the reason in one line and ends the process with exit code 1.
 */
export async function setUp(needs: readonly Need[]): Promise<void> {
  try {
    const installed = await ensurePackages(await requirementsOf(needs));
    if (needs.includes("podman"))
      clearOldBridge(
        installed.some(({ name }) => name === "netavark"),
        machineBridges,
      );
    if (needs.includes("engine")) await ensureEngine();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`set-up: ${error.message}`);
    process.exit(1);
  }
}

/** Sets up the quickstart. Its app image is a busybox that is pulled where none can be installed. */
export async function setUpQuickstart(): Promise<void> {
  await setUp(canInstall() ? ["engine", "busybox"] : ["engine"]);
}

/** Returns the requirements of the named groups. An engine that already responds is used as it is. */
async function requirementsOf(needs: readonly Need[]): Promise<Requirement[]> {
  const isEngineThere = needs.includes("engine") && (await isEngineReachable());
  return needs.flatMap((need): readonly Requirement[] =>
    need === "engine" && isEngineThere ? [] : REQUIREMENTS[need],
  );
}
