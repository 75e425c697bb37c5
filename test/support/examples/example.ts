import { cp, readFile, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { run, type RunningCommand, start } from "../command.ts";
import type { RemoteUser } from "../edgectl/remote-user.ts";
import { freeHostPort } from "../free-port.ts";
import type { System } from "../system.ts";
import { loadImagesOf } from "./images.ts";

/** The device as the examples call it. */
const GATEWAY = "GW-0001";
/** An address of the device, as the examples call it. */
const DEVICE = "http://192.168.1.20:";

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A copy of an example's directory, whose README is followed to the letter: each command is the README's own. Only what a
 * test must not share with its machine is replaced: the device and its address, and ports on it.
 */
export class Example {
  /** The copy, which a test may change. */
  readonly directory: string;
  readonly #readme: string;
  readonly #system: System;
  readonly #user: RemoteUser;
  /** Ports on this machine for those in the README. */
  readonly #ports = new Map<string, number>();
  #project: string | undefined;

  private constructor(directory: string, readme: string, system: System, user: RemoteUser) {
    this.directory = directory;
    this.#readme = readme;
    this.#system = system;
    this.#user = user;
  }

  /** Copies `examples/NAME` and loads its images. The system has an engine of its own. */
  static async open(name: string, system: System, user: RemoteUser): Promise<Example> {
    const directory = join(system.directory, name);
    await cp(join("examples", name), directory, { recursive: true });
    const example = new Example(directory, await readFile(join(directory, "README.md"), "utf8"), system, user);
    const text = await example.read("edge.yaml");
    await loadImagesOf(text, system.engineSocket);
    let own = text;
    for (const [, port = ""] of text.matchAll(/host_port: (\d+)/g)) {
      const free = await freeHostPort();
      example.#ports.set(port, free);
      own = own.replace(`host_port: ${port}`, `host_port: ${free}`);
    }
    await example.write("edge.yaml", own);
    return example;
  }

  read(file: string): Promise<string> {
    return readFile(join(this.directory, file), "utf8");
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.directory, file), text);
  }

  /** Writes another version of a file beside it. Rejects unless it has the text. */
  async derive(file: string, next: string, from: string | RegExp, to: string): Promise<void> {
    const text = await this.read(file);
    const derived = text.replaceAll(from, to);
    if (derived === text) throw new Error(`${file} has no ${String(from)}`);
    await this.write(next, derived);
  }

  /** Uses another port of this machine where the README has this one. */
  usePort(port: number, other: number): void {
    this.#ports.set(String(port), other);
  }

  /** Has the commands name the apps as the services of this project. */
  useProject(name: string): void {
    this.#project = name;
  }

  /** Runs the only command of the README with this text in a shell, in the example's directory. @param more flags */
  async run(text: string, ...more: readonly string[]): Promise<Outcome> {
    const { line, options } = this.#command(text, more);
    return await run("sh", ["-c", line], { ...options, timeoutMs: 240_000 });
  }

  /** Runs it and returns what it writes to stdout. Rejects unless it succeeds. */
  async succeed(text: string, ...more: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(text, ...more);
    if (code !== 0) throw new Error(`${text} of the README ended with ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Starts it and waits for a text on its stdout. */
  async start(text: string, ready: RegExp): Promise<RunningCommand> {
    const { line, options } = this.#command(text, []);
    const command = start("sh", ["-c", line], options);
    try {
      await command.waitForOutput(ready);
    } catch (error) {
      await command[Symbol.asyncDispose]();
      throw error;
    }
    return command;
  }

  /** Runs edgectl with arguments that are not the README's. */
  edgectl(...args: readonly string[]): Promise<Outcome> {
    return this.#user.run(args);
  }

  get gateway(): string {
    return this.#system.asset.serialNumber;
  }

  #command(text: string, more: readonly string[]) {
    let line = [commandWith(text, this.#readme), ...more].join(" ").replaceAll(GATEWAY, this.gateway);
    for (const [port, own] of this.#ports) {
      line = line.replaceAll(`${DEVICE}${port}`, `http://127.0.0.1:${own}`);
      line = line.replaceAll(`http://127.0.0.1:${port}/`, `http://127.0.0.1:${own}/`);
    }
    if (this.#project !== undefined)
      line = line.replace(/^(edgectl (?:exec|forward) \S+) (\S+)/, `$1 ${this.#project}/$2`);
    const env = {
      PATH: [resolve("dist"), process.env["PATH"]].join(delimiter),
      EDGECTL_URL: this.#system.control.url,
      EDGECTL_API_KEY: this.#user.apiKey,
    };
    // Without a shell between, so that a signal reaches the command.
    if (!line.startsWith("for ")) line = `exec ${line}`;
    return { line, options: { cwd: this.directory, env } };
  }
}

/** The only command of the README's shell blocks with this text, without its comment. */
function commandWith(text: string, readme: string): string {
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const commands = blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"));
  const [command, ...others] = commands.filter((line) => line.includes(text));
  if (command === undefined || others.length > 0)
    throw new Error(`the README has ${others.length + (command ? 1 : 0)} commands with ${text}`);
  return command.replace(/\s+# .*$/, "");
}
