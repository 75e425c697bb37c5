import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { EngineError } from "../../src/agent/engine/engine-error.ts";
import { onAbort } from "../../src/lib/abort.ts";
import type {
  ContainerAccess,
  ContainerAddress,
  ExecEnd,
  RunningExec,
} from "../../src/agent/engine/container-access.ts";

/** Access to containers that the test controls. */
export class FakeContainerAccess implements ContainerAccess {
  addresses: readonly ContainerAddress[] = [];
  /** The addresses from the second look on: the container has ended, or has others by then. */
  laterAddresses: readonly ContainerAddress[] | undefined;
  /** Number of commands killed. */
  killed = 0;
  /** Number of commands asked for. */
  execs = 0;
  /** Commands are started, resized and killed when these resolve. */
  starting: Promise<void> = Promise.resolve();
  resizing: Promise<void> = Promise.resolve();
  killing: Promise<void> = Promise.resolve();
  /** What has become of a command that is killed. */
  end: ExecEnd = { isGone: true, left: [] };
  /** Sizes passed on, in order. */
  readonly sizes: (readonly [number, number])[] = [];
  /** What the engine says when it is asked for an exit code; nothing: the command goes on. */
  exitError: EngineError | undefined;
  /** Input is taken when this resolves. */
  accepting: Promise<void> = Promise.resolve();
  readonly inputs: Uint8Array[] = [];
  /** Ends the output of commands. */
  readonly outputs: Readable[] = [];
  /** Unpacked archives. */
  readonly written: Buffer[] = [];

  async addressesOf(): Promise<readonly ContainerAddress[]> {
    const { addresses } = this;
    this.addresses = this.laterAddresses ?? addresses;
    return addresses;
  }

  /** A command that writes one byte and goes on until it is killed. */
  async exec(): Promise<RunningExec> {
    this.execs++;
    await this.starting;
    const output = new Readable({ read: () => undefined });
    this.outputs.push(output);
    output.push("x");
    return {
      output: mapped(output),
      write: async (bytes) => {
        await this.accepting;
        this.inputs.push(bytes);
      },
      end: () => undefined,
      resize: async (...size) => {
        this.sizes.push([size[0], size[1]]);
        await this.resizing;
      },
      exitCode: async () => {
        if (this.exitError) throw this.exitError;
        return undefined;
      },
      kill: async () => {
        await this.killing;
        this.killed++;
        output.destroy();
        return this.end;
      },
      close: () => void output.destroy(),
    };
  }

  async statPath(): Promise<{ readonly isDirectory: boolean }> {
    return { isDirectory: true };
  }

  async readArchive(): Promise<Readable> {
    return Readable.from([]);
  }

  async writeArchive(_id: string, _directory: string, archive: Readable, signal: AbortSignal): Promise<void> {
    const whole = buffer(archive);
    // Where the signal aborts.
    whole.catch(() => undefined);
    const aborted = new Promise<never>((_resolve, reject) => onAbort(signal, () => reject(signal.reason as Error)));
    this.written.push(await Promise.race([whole, aborted]));
  }
}

async function* mapped(
  output: Readable,
): RunningExec["output"] extends AsyncIterable<infer T> ? AsyncGenerator<T> : never {
  for await (const bytes of output as AsyncIterable<Uint8Array>) yield { source: "stdout", bytes };
}
