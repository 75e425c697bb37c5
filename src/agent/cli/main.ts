import { join } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { VERSION } from "../../lib/version.ts";
import { createLinuxHost } from "../host/linux-host.ts";
import { addLocalCommands } from "./commands.ts";
import type { Io } from "./io.ts";

/** Adds the interactive commands. @param wanted the command on the command line, if any */
export async function addCommands(program: Command, wanted: string | undefined): Promise<void> {
  // Exits explicitly: a hanging name look-up would keep the process. Output to files and terminals is synchronous.
  await addLocalCommands(program, processIo(), wanted, (code) => process.exit(code));
}

/** What commands access on this device. */
export function processIo(): Omit<Io, "interrupted"> {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    device: {
      host: createLinuxHost(),
      async readClock() {
        // Node.js would print that its FFI is experimental.
        process.removeAllListeners("warning");
        const { clockFactsReader } = await import("../host/clock-facts.ts");
        return await clockFactsReader()();
      },
      async createEngine({ engine }) {
        const { createDockerEngine } = await import("../engine/docker/docker-engine.ts");
        const { createSocketFinder } = await import("../engine/find-socket.ts");
        const socketPath = createSocketFinder({ configured: engine.socket, environment: process.env });
        return createDockerEngine({ socketPath, clock: systemClock });
      },
      async createRegistryPing(config, engine) {
        const { createRegistryPing } = await import("../registry/registry-ping.ts");
        const { deviceCredentials } = await import("../registry/credentials/device-credentials.ts");
        const { createTrustSource } = await import("../registry/trust.ts");
        return createRegistryPing({
          clock: systemClock,
          userAgent: `edge-agent/${VERSION}`,
          credentials: deviceCredentials(config, systemClock),
          trust: createTrustSource({
            extraCa: config.extraCa,
            registries: config.registries,
            // Another check reports an engine that does not answer.
            engineInsecure: (signal) =>
              engine.info(signal).then(
                ({ insecureRegistries }) => insecureRegistries,
                () => [],
              ),
          }),
        });
      },
      async openReader(stateDir) {
        const { openSqliteReader } = await import("../store/sqlite-store.ts");
        const { readBootId } = await import("../host/boot-id.ts");
        return openSqliteReader({ path: join(stateDir, "agent.db"), clock: systemClock, bootId: readBootId() });
      },
    },
  };
}
