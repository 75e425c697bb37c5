import { Readable } from "node:stream";
import type { ContainerAccess, ContainerAddress, RunningExec } from "../../src/agent/engine/container-access.ts";

/** Access to containers that the test controls. */
export class FakeContainerAccess implements ContainerAccess {
  addresses: readonly ContainerAddress[] = [];
  /** Number of commands killed. */
  killed = 0;

  async addressesOf(): Promise<readonly ContainerAddress[]> {
    return this.addresses;
  }

  /** A command that writes one byte and goes on until it is killed. */
  async exec(): Promise<RunningExec> {
    const output = new Readable({ read: () => undefined });
    output.push("x");
    return {
      output: mapped(output),
      write: async () => undefined,
      end: () => undefined,
      resize: async () => undefined,
      exitCode: async () => undefined,
      kill: async () => {
        this.killed++;
        output.destroy();
        return true;
      },
      close: () => void output.destroy(),
    };
  }

  async statPath(): Promise<undefined> {
    return undefined;
  }

  async readArchive(): Promise<Readable> {
    return Readable.from([]);
  }

  async writeArchive(): Promise<void> {}
}

async function* mapped(
  output: Readable,
): RunningExec["output"] extends AsyncIterable<infer T> ? AsyncGenerator<T> : never {
  for await (const bytes of output as AsyncIterable<Uint8Array>) yield { source: "stdout", bytes };
}
