import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AppSpec, appSpecSchema } from "../../src/protocol/apps/app-spec.ts";
import { freeHostPort } from "./free-port.ts";
import type { System } from "./system.ts";

/** An example's app as it is deployed by a test: its own name, image, host port and directories. */
export interface ExampleApp {
  readonly name: string;
  /** Path of its file, for edgectl. */
  readonly file: string;
  readonly port: number;
  /** The directory on this machine for each of the example's. */
  readonly directories: readonly string[];
}

/**
 * Reads `examples/NAME/app.json` and writes it with what differs between tests that share a machine. Everything else stays
 * as it is in the file.
 */
export async function exampleApp(example: string, image: string, system: System): Promise<ExampleApp> {
  const spec: AppSpec = appSpecSchema.parse(JSON.parse(await readFile(`examples/${example}/app.json`, "utf8")));
  const [name, port] = [system.name(example), await freeHostPort()];
  const directories = spec.volumes.map((_volume, index) => join(system.directory, `${name}-${index}`));
  const own = {
    ...spec,
    name,
    image,
    ports: spec.ports.map((entry) => ({ ...entry, host_port: port })),
    volumes: spec.volumes.map((volume, index) => Object.assign(volume, { local: directories[index] })),
  };
  const file = join(system.directory, `${name}.json`);
  await writeFile(file, JSON.stringify(own));
  return { name, file, port, directories };
}
